import { failedPrecondition, messageOf, StatusError } from '../base/index.js';
import { systemErrorCode } from './file-system.js';

const codes = new Set(['ENOSPC', 'EDQUOT', 'EIO', 'EROFS', 'EACCES', 'EPERM', 'EMFILE', 'ENFILE']);
/** What LevelDB says of the same errors. */
const texts =
  /No space left on device|Disk quota exceeded|Input\/output error|Read-only file system|Permission denied|Too many open files/;

/**
 * Why a database can't be opened: damage, another process that has it, or a disk that does not let it
 * be opened now, which says nothing about the data.
 */
export function openingError(path: string, cause: unknown): StatusError {
  const detail = messageOf(cause);
  // By a release that does not know our lock, or by another program.
  if (systemErrorCode(cause) === 'LEVEL_LOCKED')
    return failedPrecondition(
      'DirectoryLocked',
      `the database in ${path} is in use by another process (${detail}); stop it first`,
    );
  if (codes.has(systemErrorCode(cause) ?? '') || texts.test(detail))
    return new StatusError({
      code: 'Unavailable',
      reason: 'DatabaseUnavailable',
      message: `the database in ${path} can't be opened (${detail}); nothing says that it is damaged: see to the disk and its permissions, then open it again`,
      cause,
    });
  return new StatusError({
    code: 'DataLoss',
    reason: 'Damaged',
    message: `the database in ${path} is damaged: ${detail}; restore it from a backup`,
    cause,
  });
}
