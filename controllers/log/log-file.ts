import { constants } from 'node:fs';
import { type FileHandle, open } from 'node:fs/promises';

/**
 * Opens a file of a log. A workload may have put something else there where its file was within its reach, so
 * no link is followed, and only a regular file is opened.
 * @throws Error ELOOP for a link, EACCES for what is no file
 */
export async function openLog(path: string, flags: number): Promise<FileHandle> {
  // A pipe without a reader or writer would keep the caller waiting.
  const file = await open(path, flags | constants.O_NOFOLLOW | constants.O_NONBLOCK, 0o600);
  if ((await file.stat()).isFile()) return file;
  await file.close();
  throw Object.assign(new Error(`${path} is not a regular file`), { code: 'EACCES' });
}

/** Like {@link openLog} for reading; undefined when there is no such file. */
export async function openLogToRead(path: string): Promise<FileHandle | undefined> {
  try {
    return await openLog(path, constants.O_RDONLY);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw error;
  }
}

/** The text of a log's file; undefined when there is no such file. */
export async function readLogText(path: string): Promise<string | undefined> {
  const file = await openLogToRead(path);
  try {
    return await file?.readFile('utf8');
  } finally {
    await file?.close();
  }
}

/** Bytes of a log's file; 0 when there is no such file. */
export async function logSize(path: string): Promise<number> {
  const file = await openLogToRead(path);
  try {
    return (await file?.stat())?.size ?? 0;
  } finally {
    await file?.close();
  }
}
