import { dirname, resolve } from 'node:path';
import { type FileSystem, systemErrorCode } from './file-system.js';

/**
 * What a directory says that this process may not sync, or whose file system has no such call: its names
 * were not made by this process, or are not its to keep.
 */
const notOurs = new Set(['EACCES', 'EPERM', 'EROFS', 'EINVAL', 'ENOSYS', 'ENOTSUP', 'EOPNOTSUPP']);

/**
 * Makes the name of a directory durable, with those of all directories above it. Whoever created some of
 * them may have been killed before it synced them, so that those that are there are synced as well.
 * @throws the system's error when the disk fails
 */
export async function syncNamesAbove(files: FileSystem, directory: string): Promise<void> {
  for (let path = resolve(directory); path !== dirname(path); path = dirname(path)) {
    try {
      await files.syncDirectory(dirname(path));
    } catch (error) {
      if (!notOurs.has(systemErrorCode(error) ?? '')) throw error;
    }
  }
}
