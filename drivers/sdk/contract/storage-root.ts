import { realpath } from 'node:fs/promises';
import { makeDirectory } from '../node/make-directory.js';

/** The directory of a driver's volumes, which is used only while it is the expected one. */
export interface StorageRoot {
  /** The configured path. */
  readonly path: string;
  /**
   * Runs `work` with the real path of the directory. The directory is open meanwhile, so that its file system can't be
   * unmounted.
   * @throws DriverError Unavailable, with the remedy, if the directory is absent or not the expected one; `work` is not
   *   called then.
   */
  use<T>(work: (directory: string) => Promise<T>): Promise<T>;
}

/** A root without checks: any directory at `path`, created if missing. */
export function uncheckedStorageRoot(path: string): StorageRoot {
  return {
    path,
    use: async (work) => {
      await makeDirectory(path, 0o700);
      return work(await realpath(path));
    },
  };
}
