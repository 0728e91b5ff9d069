/*
 * Preloaded into a process: notes, for each file that is synced, how long it was then, and each
 * rename and unlink, in the file that SYNC_LOG names. What a power loss may take is what is not there.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static int log_fd = -1;

__attribute__((constructor)) static void start(void) {
  const char *path = getenv("SYNC_LOG");
  if (path) log_fd = open(path, O_WRONLY | O_APPEND | O_CREAT, 0600);
}

static void note(int fd) {
  char link[64], path[4096], line[4200];
  struct stat st;
  if (log_fd < 0 || fstat(fd, &st) != 0) return;
  snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
  ssize_t length = readlink(link, path, sizeof path - 1);
  if (length <= 0) return;
  path[length] = 0;
  int n = snprintf(line, sizeof line, "%lld %s\n", (long long)st.st_size, path);
  if (write(log_fd, line, n) != n) abort();
}

int fdatasync(int fd) {
  int (*real)(int) = (int (*)(int))dlsym(RTLD_NEXT, "fdatasync");
  int result = real(fd);
  if (result == 0) note(fd);
  return result;
}

int fsync(int fd) {
  int (*real)(int) = (int (*)(int))dlsym(RTLD_NEXT, "fsync");
  int result = real(fd);
  if (result == 0) note(fd);
  return result;
}
