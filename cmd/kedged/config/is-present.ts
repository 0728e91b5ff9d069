import { access } from 'node:fs/promises';
import { messageOf, StatusError } from 'kedge';

/** Errors of a path that does not exist. */
const absent = ['ENOENT', 'ENOTDIR'];

/**
 * Whether a file of the data directory exists.
 * @throws StatusError Unavailable (DirectoryUnavailable) if this can't be determined, for example because this user may
 * not enter the directory: the file must not count as missing
 */
export async function isPresent(path: string): Promise<boolean> {
  try {
    await access(path);
    return true;
  } catch (error) {
    if (absent.includes((error as NodeJS.ErrnoException).code ?? '')) return false;
    throw new StatusError({
      code: 'Unavailable',
      reason: 'DirectoryUnavailable',
      message: `${path} can't be read (${messageOf(error)}); run the command as the user of kedged, or set another directory with --data-directory or --config`,
      cause: error,
    });
  }
}
