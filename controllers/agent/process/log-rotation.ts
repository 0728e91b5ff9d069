import { appendFile, copyFile, rename, rm, stat, truncate, writeFile } from 'node:fs/promises';
import { logTimes, readLogTimes } from '../../log/log-times.js';

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
  await rm(logTimes(file), { force: true });
}

/** Notes of the sizes of a log that are kept: with one every half minute, four hours. */
const timesMax = 512;

/**
 * Notes how long a log is now, for readers that ask for lines since a time: workloads write straight
 * into the file, so nobody else knows when a line came.
 */
export async function noteSize(file: string, now: number): Promise<void> {
  const size = await stat(file).then(
    (s) => s.size,
    () => 0, // no output yet
  );
  const known = await readLogTimes(file);
  if (known.at(-1)?.offset === size) return;
  const line = `${now} ${size}\n`;
  if (known.length < timesMax) {
    await appendFile(logTimes(file), line, { mode: 0o600 });
    return;
  }
  const kept = known.slice(-timesMax / 2).map(({ at, offset }) => `${at} ${offset}\n`);
  await writeFile(logTimes(file), [...kept, line].join(''), { mode: 0o600 });
}
