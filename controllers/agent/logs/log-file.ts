import { constants } from 'node:fs';
import { type FileHandle, open } from 'node:fs/promises';

/**
 * Opens a file of a log. A workload with access to the folder may have replaced the file, so a link at the end of the
 * path is not followed, and only a regular file is opened.
 * @param flags those of open(2); with O_CREAT the mode of the file is 0600
 * @throws Error ELOOP for a link; for other file types EACCES, or the error of open(2), such as EISDIR or ENXIO
 */
export async function openLog(path: string, flags: number): Promise<FileHandle> {
  // A pipe without a reader or writer would block the caller.
  const file = await open(path, flags | constants.O_NOFOLLOW | constants.O_NONBLOCK, 0o600);
  if ((await file.stat()).isFile()) return file;
  await file.close();
  throw Object.assign(new Error(`${path} is not a regular file`), { code: 'EACCES' });
}

/** Like {@link openLog} for reading; undefined if the file does not exist. */
export async function openLogToRead(path: string): Promise<FileHandle | undefined> {
  try {
    return await openLog(path, constants.O_RDONLY);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw error;
  }
}

/** The text of a log file; undefined if it does not exist. */
export async function readLogText(path: string): Promise<string | undefined> {
  const file = await openLogToRead(path);
  try {
    return await file?.readFile('utf8');
  } finally {
    await file?.close();
  }
}

/** Size of a log file in bytes; 0 if it does not exist. */
export async function logSize(path: string): Promise<number> {
  const file = await openLogToRead(path);
  try {
    return (await file?.stat())?.size ?? 0;
  } finally {
    await file?.close();
  }
}
