import { copyFile, rename, rm, stat, truncate } from 'node:fs/promises';

/** Bytes of a log before it is rotated, and how many old ones are kept. */
const logBytesMax = 10 * 1024 * 1024;
const logsKept = 3;

/**
 * Copies a log that is too large aside and empties it in place: the workload holds the file open for
 * appending, so it can't be renamed away. Lines written between the two steps are lost; that is a
 * few milliseconds once in 10 MiB.
 */
export async function rotate(file: string): Promise<void> {
  const size = await stat(file).then(
    (s) => s.size,
    () => 0, // no output yet
  );
  if (size <= logBytesMax) return;
  await rm(`${file}.${logsKept}`, { force: true });
  for (let n = logsKept - 1; n >= 1; n -= 1)
    await rename(`${file}.${n}`, `${file}.${n + 1}`).catch((error: NodeJS.ErrnoException) => {
      if (error.code !== 'ENOENT') throw error;
    });
  await copyFile(file, `${file}.1`);
  await truncate(file, 0);
}
