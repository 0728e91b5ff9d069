import { mkdir, realpath } from 'node:fs/promises';

/** A directory below which a driver keeps volumes, as long as it is the one that it should be. */
export interface StorageRoot {
  /** The configured path. */
  readonly path: string;
  /**
   * Runs `work` with the real path of the directory. The directory is held open meanwhile: its file
   * system can't be unmounted under the work.
   * @throws DriverError Unavailable, with the remedy, while the directory is absent or another one;
   * `work` is not called then, and nothing is made.
   */
  use<T>(work: (directory: string) => Promise<T>): Promise<T>;
}

/** A root that is whatever is at `path`: made where it is missing, never refused. */
export function uncheckedStorageRoot(path: string): StorageRoot {
  return {
    path,
    use: async (work) => {
      await mkdir(path, { recursive: true, mode: 0o700 });
      return work(await realpath(path));
    },
  };
}
