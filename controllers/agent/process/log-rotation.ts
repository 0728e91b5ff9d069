import { constants } from 'node:fs';
import { rename, rm } from 'node:fs/promises';
import { pipeline } from 'node:stream/promises';
import { logSize, openLog } from '../logs/log-file.js';
import { logTimes, readLogTimes } from '../logs/log-times.js';

/** Bytes of a log before it is rotated, and number of kept old logs. */
const logBytesMax = 10 * 1024 * 1024;
const logsKept = 3;

/**
 * Copies a log of more than 10 MiB and truncates it: the workload has the file open for appending, so that it can't be
 * renamed. Removes the oldest copy and the size records. Lines written between the two steps are lost.
 */
export async function rotate(file: string): Promise<void> {
  if ((await logSize(file)) <= logBytesMax) return;
  await rm(`${file}.${logsKept}`, { force: true });
  for (let n = logsKept - 1; n >= 1; n -= 1)
    await rename(`${file}.${n}`, `${file}.${n + 1}`).catch((error: NodeJS.ErrnoException) => {
      if (error.code !== 'ENOENT') throw error;
    });
  const log = await openLog(file, constants.O_RDWR);
  try {
    const { O_WRONLY, O_CREAT, O_TRUNC } = constants;
    // A reader must not find an incomplete copy.
    const copy = `${file}.copy`;
    const aside = await openLog(copy, O_WRONLY | O_CREAT | O_TRUNC);
    await pipeline(log.createReadStream({ autoClose: false }), aside.createWriteStream());
    await rename(copy, `${file}.1`);
    await log.truncate(0);
  } finally {
    await log.close();
  }
  await rm(logTimes(file), { force: true });
}

/**
 * Maximum number of size records of a log; at the maximum, the older half is removed. With one every 30 s they cover
 * two to four hours.
 */
const timesMax = 512;

/**
 * Records the present size of a log, for reads since a time: workloads write directly to the file, so that lines
 * have no timestamps. No-op if the size is the one recorded last.
 */
export async function noteSize(file: string, now: number): Promise<void> {
  const size = await logSize(file);
  const known = await readLogTimes(file);
  if (known.at(-1)?.offset === size) return;
  const line = `${now} ${size}\n`;
  const { O_WRONLY, O_CREAT, O_APPEND, O_TRUNC } = constants;
  const full = known.length >= timesMax;
  const kept = known.slice(-timesMax / 2).map(({ at, offset }) => `${at} ${offset}\n`);
  const notes = await openLog(logTimes(file), O_WRONLY | O_CREAT | (full ? O_TRUNC : O_APPEND));
  try {
    await notes.writeFile(full ? [...kept, line].join('') : line);
  } finally {
    await notes.close();
  }
}
