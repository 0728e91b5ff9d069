import { failedPrecondition, messageOf, StatusError } from '../../base/index.js';
import { storeClosed } from '../engine/store-closed.js';
import { systemErrorCode } from './file-system.js';

/** The error of bytes in a database that differ from the written ones. */
export class DamageError extends Error {}

/**
 * The system errors of a held lock, of another process or this one. Other errors of a lock (no memory, a stale
 * handle, a file system without locks) do not mean that it is held.
 */
const heldTexts = /Resource temporarily unavailable|already held by process|being used by another/i;

/** Whether LevelDB refused to open a database because this or another process has it open. */
export function isHeldElsewhere(cause: unknown): boolean {
  return systemErrorCode(cause) === 'LEVEL_LOCKED' && heldTexts.test(messageOf(cause));
}

/**
 * Whether an error proves damage: a wrong checksum, or a file named in the manifest that is missing or too short. Any
 * other failed open or read does not prove damage.
 */
function provesDamage(cause: unknown): boolean {
  const detail = messageOf(cause);
  return (
    cause instanceof DamageError ||
    systemErrorCode(cause) === 'LEVEL_CORRUPTION' ||
    detail.startsWith('Corruption: ') ||
    // LevelDB's errors about a file that its manifest names: it is missing, or a block is beyond its end.
    /^IO error: .*(No such file or directory|ENOENT|\.(ldb|sst): Invalid argument)/.test(detail)
  );
}

/** The error for a damaged database. `detail` names the damage and its evidence. */
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
    message: `the database in ${path} can't be ${done} (${messageOf(cause)}); this does not prove damage: check the disk, its permissions and the limits of the process, then retry`,
    cause,
  });
}

/**
 * Classifies the error of opening a database: proven damage, another process that has it open, or a system error,
 * which may be transient.
 */
export function openingError(path: string, cause: unknown): StatusError {
  // Another release or program has opened the database without taking our lock.
  if (isHeldElsewhere(cause))
    return failedPrecondition(
      'DirectoryLocked',
      `the database in ${path} is in use by another process (${messageOf(cause)}); stop it first`,
    );
  return provesDamage(cause)
    ? damaged(path, messageOf(cause), cause)
    : unavailable(path, 'opened', cause);
}

/** Classifies the error of reading an open database; a closed LevelDB throws errors without a code. */
export function readingError(path: string, cause: unknown): StatusError {
  if (provesDamage(cause)) return damaged(path, messageOf(cause), cause);
  if (systemErrorCode(cause) === 'LEVEL_IO_ERROR') return unavailable(path, 'read', cause);
  return storeClosed(cause);
}

/** The error of a high-water mark that can't be written. */
export function markUnwritable(path: string, error: unknown): StatusError {
  return new StatusError({
    code: 'Unavailable',
    reason: 'HighWaterUnwritable',
    message: `${path} can't be written (${messageOf(error)}); without it, a truncated log is not detected: free disk space, or make the file writable`,
    cause: error,
  });
}
