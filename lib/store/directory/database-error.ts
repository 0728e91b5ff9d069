import { failedPrecondition, messageOf, StatusError } from '../../base/index.js';
import { systemErrorCode } from './file-system.js';

/** Bytes in a database are not what was written there. */
export class DamageError extends Error {}

/**
 * What the system says when a lock is held, or the process holds it itself. Whatever else goes wrong with
 * a lock (no memory, a stale handle, a file system without locks) does not say that anybody has it.
 */
const heldTexts = /Resource temporarily unavailable|already held by process|being used by another/i;

/** Whether LevelDB was refused because its database is open elsewhere. */
export function isHeldElsewhere(cause: unknown): boolean {
  return systemErrorCode(cause) === 'LEVEL_LOCKED' && heldTexts.test(messageOf(cause));
}

/**
 * Whether the bytes on the disk are wrong: a checksum says so, or a file that the database names is gone.
 * That the system could not open or read a file proves nothing about what is in it.
 */
function provesDamage(cause: unknown): boolean {
  const detail = messageOf(cause);
  return (
    cause instanceof DamageError ||
    systemErrorCode(cause) === 'LEVEL_CORRUPTION' ||
    detail.startsWith('Corruption: ') ||
    // Of LevelDB, about a file that its manifest names: it is gone, or a block lies behind its end.
    /^IO error: .*(No such file or directory|ENOENT|\.(ldb|sst): Invalid argument)/.test(detail)
  );
}

/** The error of a database whose bytes are wrong. `detail` says which, and how that was seen. */
export function damaged(path: string, detail: string, cause?: unknown): StatusError {
  return new StatusError({
    code: 'DataLoss',
    reason: 'Damaged',
    message: `the database in ${path} is damaged: ${detail}; restore it from a backup`,
    cause,
  });
}

function unavailable(path: string, done: string, cause: unknown): StatusError {
  return new StatusError({
    code: 'Unavailable',
    reason: 'DatabaseUnavailable',
    message: `the database in ${path} can't be ${done} (${messageOf(cause)}); nothing says that it is damaged: see to the disk, its permissions and the limits of the process, then try again`,
    cause,
  });
}

/**
 * Why a database can't be opened: proven damage, another process that has it, or an error of the system,
 * which says nothing about the data and may be gone at the next try.
 */
export function openingError(path: string, cause: unknown): StatusError {
  // By a release that does not know our lock, or by another program.
  if (isHeldElsewhere(cause))
    return failedPrecondition(
      'DirectoryLocked',
      `the database in ${path} is in use by another process (${messageOf(cause)}); stop it first`,
    );
  return provesDamage(cause)
    ? damaged(path, messageOf(cause), cause)
    : unavailable(path, 'opened', cause);
}

/** Why an open database can't be read; LevelDB gives errors without a code once it was closed. */
export function readingError(path: string, cause: unknown): StatusError {
  if (provesDamage(cause)) return damaged(path, messageOf(cause), cause);
  if (systemErrorCode(cause) === 'LEVEL_IO_ERROR') return unavailable(path, 'read', cause);
  return new StatusError({
    code: 'Unavailable',
    reason: 'StoreClosed',
    message: 'the store is closed',
    cause,
  });
}

/** The error of a high-water mark that can't be written. */
export function markUnwritable(path: string, error: unknown): StatusError {
  return new StatusError({
    code: 'Unavailable',
    reason: 'HighWaterUnwritable',
    message: `${path} can't be written (${messageOf(error)}); without it a lost tail of the log would go unnoticed: make room on the disk, or make the file writable`,
    cause: error,
  });
}
