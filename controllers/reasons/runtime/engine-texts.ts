/**
 * Texts of programs that are not part of Kedge, in the errors that they return. Each row names its source, because a new
 * release of the program may change the text.
 */
export const engineTexts = {
  /** Linux: strerror(ENOSPC), which the Docker engine and containerd repeat in the errors of pulls and starts. */
  diskFull: {
    isIn: (message: string): boolean => message.includes('no space left on device'),
    /** Whether kedged wrote, and not the engine: Node.js puts the code before the text. */
    isOfKedged: (message: string): boolean => message.includes('ENOSPC: no space left on device'),
  },
  /**
   * Docker engine, for a container whose root directory is the mount point of a mount that the engine does not reach:
   * `driver "overlay2" failed to remove root filesystem: unlinkat /D/merged: device or resource busy`.
   */
  rootBusy: {
    isIn: (message: string): boolean =>
      message.includes('failed to remove root filesystem') &&
      message.includes('device or resource busy'),
  },
  portTaken: {
    /**
     * Docker engine, publishing of a port. A listener of another program: `listen tcp4 0.0.0.0:80: bind: address already
     * in use`. A port of another container: `Bind for 0.0.0.0:80 failed: port is already allocated`.
     */
    isIn: (message: string): boolean =>
      /address already in use|port is already allocated/.test(message),
    /** Whether another container has the port. The engine need not listen on it. */
    isOfContainer: (message: string): boolean => message.includes('port is already allocated'),
    /** The port in these texts. */
    portIn: (message: string): string | undefined =>
      /:(\d+)(?:: bind: address already in use| failed: port is already allocated)/.exec(
        message,
      )?.[1],
  },
  /** Docker engine, moby/sys/user: `unable to find user web: no matching entries in passwd file`; groups alike. */
  userUnknown: {
    isIn: (message: string): boolean =>
      /unable to find (?:user|group) .*: no matching entries in (?:passwd|group) file/.test(
        message,
      ),
  },
  /**
   * Docker engine, for a file of the image: `Cannot mkdir: /srv is not a directory`. runc, for one that it can't create:
   * `mkdir /proc/self/fd/7: not a directory`, and for a directory that the user may not enter:
   * `chdir to cwd ("/srv") set in config.json failed: permission denied`.
   */
  workingDirectoryRefused: {
    isIn: (message: string): boolean =>
      /Cannot mkdir: .* is not a directory|\bmkdir \S+: not a directory|chdir to cwd .* failed/.test(
        message,
      ),
  },
  /** runc, for a mount point that can't be created or is a file: `error mounting "SOURCE" to rootfs at "TARGET": ...`. */
  mountRefused: {
    targetIn: (message: string): string | undefined =>
      /error mounting ".*?" to rootfs at "(.*?)":/.exec(message)?.[1],
  },
  /**
   * runc: `exec: "x": executable file not found in $PATH`. tini, the init process: `exec x failed: No such file or
   * directory`. Docker engine, for an image without a command: `No command specified`.
   */
  commandRefused: {
    isIn: (message: string): boolean =>
      /exec: "|\bexec \S+ failed: |No command specified/i.test(message),
  },
  /** Linux: E2BIG of execve(2), as Node.js reports it. */
  tooManyVariables: { isIn: (message: string): boolean => message.includes('E2BIG') },
} as const;
