import { lstat, open } from 'node:fs/promises';
import { failedPrecondition, type StatusError } from '../../base/index.js';
import { backupFormat, frameTypes } from './backup.js';
import { systemErrorCode } from '../directory/file-system.js';

/** Bytes before the text of the header: length and type of its frame. */
const frameHeadBytes = 5;
const beginning = `{"format":"${backupFormat.replace(/\d+$/, '')}`;

function refused(path: string, what: string): StatusError {
  return failedPrecondition(
    'NotABackup',
    `${path} is ${what}, and only an existing backup can be replaced; nothing was written: use another file`,
  );
}

/**
 * Refuses to replace a file that is not a backup: a misspelt path could destroy a key or a database, and a symbolic
 * link could put the backup on the wrong disk.
 * @throws StatusError FailedPrecondition (NotABackup); the system's errors
 */
export async function requireBackupTarget(path: string): Promise<void> {
  const found = await lstat(path).catch((error: unknown) => {
    if (systemErrorCode(error) === 'ENOENT') return undefined;
    throw error;
  });
  if (!found) return;
  if (found.isSymbolicLink()) throw refused(path, 'a symbolic link');
  if (!found.isFile())
    throw refused(path, found.isDirectory() ? 'a directory' : 'not a regular file');
  // An empty file, for example of mktemp, may be replaced.
  if (found.size === 0) return;
  const file = await open(path, 'r');
  try {
    const bytes = Buffer.alloc(frameHeadBytes + beginning.length);
    await file.read(bytes, 0, bytes.length, 0);
    const isBackup =
      bytes[frameHeadBytes - 1] === frameTypes.header &&
      bytes.toString('latin1', frameHeadBytes) === beginning;
    if (!isBackup) throw refused(path, 'another file');
  } finally {
    await file.close();
  }
}
