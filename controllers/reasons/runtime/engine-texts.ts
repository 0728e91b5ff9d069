/**
 * Texts of programs that are not part of Kedge, in the errors that they return. Each row names its source, because a new
 * release of the program may change the text.
 */
export const engineTexts = {
  /** Linux: strerror(ENOSPC), which the Docker engine and containerd repeat in the errors of pulls and starts. */
  diskFull: { isIn: (message: string): boolean => message.includes('no space left on device') },
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
} as const;
