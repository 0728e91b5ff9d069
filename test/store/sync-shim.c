/*
 * Preloaded into a process: records in the file SYNC_LOG the data that a power loss must keep: the length of each
 * file at its sync ("<bytes> <path>"), and the names in a directory at its sync ("name <path>"). With SYNC_FAIL=<n>
 * about every n-th sync in a folder "db" fails with EIO and syncs nothing, except the first 40 of a process.
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static int log_fd = -1;
static unsigned fail_every;
static unsigned seed;
/* The number of first syncs of a process that do not fail. */
static const unsigned spared = 40;
static unsigned syncs;

__attribute__((constructor)) static void start(void) {
  const char *path = getenv("SYNC_LOG");
  const char *every = getenv("SYNC_FAIL");
  if (path) log_fd = open(path, O_WRONLY | O_APPEND | O_CREAT, 0600);
  if (every) fail_every = (unsigned)atoi(every);
  seed = (unsigned)getpid();
}

static const size_t names_bytes = 1 << 20;

static int path_of(int fd, char *path, size_t size) {
  char link[64];
  snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
  ssize_t length = readlink(link, path, size - 1);
  if (length <= 0) return 0;
  path[length] = 0;
  return 1;
}

/* One write, so that lines of several threads do not mix. */
static void record(const char *text, size_t length) {
  if (write(log_fd, text, length) != (ssize_t)length) abort();
}

/* The names of a directory as they are before it is synced. */
static size_t names_of(const char *path, char *text, size_t size) {
  size_t length = 0;
  DIR *directory = opendir(path);
  if (!directory) return 0;
  for (struct dirent *entry; (entry = readdir(directory));) {
    size_t left = size - length;
    int n = snprintf(text + length, left, "name %s/%s\n", path, entry->d_name);
    if (n < 0 || (size_t)n >= left) abort();
    length += (size_t)n;
  }
  closedir(directory);
  return length;
}

static int sync_with(int (*real)(int), int fd) {
  char path[4096], line[4200];
  char *names = NULL;
  struct stat st;
  size_t length = 0;
  if (log_fd < 0 || !path_of(fd, path, sizeof path)) return real(fd);
  if (fail_every > 0 && strstr(path, "/db/") && ++syncs > spared &&
      rand_r(&seed) % fail_every == 0) {
    errno = EIO;
    return -1;
  }
  if (fstat(fd, &st) != 0) return real(fd);
  int is_directory = S_ISDIR(st.st_mode);
  if (is_directory) {
    names = malloc(names_bytes);
    if (!names) abort();
    length = names_of(path, names, names_bytes);
  }
  int result = real(fd);
  if (result == 0 && is_directory) record(names, length);
  free(names);
  if (result == 0 && !is_directory && fstat(fd, &st) == 0) {
    int n = snprintf(line, sizeof line, "%lld %s\n", (long long)st.st_size, path);
    record(line, (size_t)n);
  }
  return result;
}

int fdatasync(int fd) {
  return sync_with((int (*)(int))dlsym(RTLD_NEXT, "fdatasync"), fd);
}

int fsync(int fd) {
  return sync_with((int (*)(int))dlsym(RTLD_NEXT, "fsync"), fd);
}
