import { dirname, resolve } from 'node:path';
import { type FileSystem, systemErrorCode } from './file-system.js';

/**
 * Errors of a directory that this process may not sync, or whose file system does not support it: this process did
 * not create its names.
 */
const notOurs = new Set(['EACCES', 'EPERM', 'EROFS', 'EINVAL', 'ENOSYS', 'ENOTSUP', 'EOPNOTSUPP']);

/**
 * Makes the names of a directory and of all its ancestors durable. Existing ones are synced too, because their
 * creator may have been killed before it synced them. Skips directories that this process may not sync, or whose file
 * system does not support it.
 * @throws the system's error for every other failure
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
