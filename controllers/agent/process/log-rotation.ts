import { constants } from 'node:fs';
import { type FileHandle, rename, rm } from 'node:fs/promises';
import { isDiskFull } from '@kedge/driver-sdk';
import { logSize, openLog } from '../logs/log-file.js';
import { logTimes, readLogTimes } from '../logs/log-times.js';

/** Bytes of a log before it is rotated, and number of kept old logs. */
const logBytesMax = 10 * 1024 * 1024;
const logsKept = 3;
/** Bytes of a log that are copied at once. */
const chunkBytes = 262_144;

/**
 * Copies a log of more than 10 MiB and truncates it: the workload has the file open for appending, so that it can't be
 * renamed. Removes the oldest copy and the size records. Lines written between the two steps are lost, and those of a
 * workload that writes faster than they are copied. After a failed copy all files are kept, on a full disk except the
 * oldest copy.
 */
export async function rotate(file: string): Promise<void> {
  const size = await logSize(file);
  if (size <= logBytesMax) return;
  const log = await openLog(file, constants.O_RDWR);
  try {
    // A reader must not find an incomplete copy.
    const copy = `${file}.copy`;
    const oldest = `${file}.${logsKept}`;
    const copied = (): Promise<void> => copyLog(log, copy, size + logBytesMax);
    await copied().catch(async (error: unknown) => {
      if (!isDiskFull(error)) throw error;
      await rm(oldest, { force: true });
      await copied();
    });
    await rm(oldest, { force: true });
    for (let n = logsKept - 1; n >= 1; n -= 1)
      await rename(`${file}.${n}`, `${file}.${n + 1}`).catch((error: NodeJS.ErrnoException) => {
        if (error.code !== 'ENOENT') throw error;
      });
    await rename(copy, `${file}.1`);
    await log.truncate(0);
  } finally {
    await log.close();
  }
  await rm(logTimes(file), { force: true });
}

/** Copies a growing log, at most `bytesMax` bytes. Leaves no incomplete copy. */
async function copyLog(log: FileHandle, copy: string, bytesMax: number): Promise<void> {
  const { O_WRONLY, O_CREAT, O_TRUNC } = constants;
  const aside = await openLog(copy, O_WRONLY | O_CREAT | O_TRUNC);
  const chunk = Buffer.alloc(chunkBytes);
  try {
    for (let at = 0; at < bytesMax; ) {
      const { bytesRead } = await log.read(chunk, 0, Math.min(chunkBytes, bytesMax - at), at);
      if (bytesRead === 0) break;
      await aside.writeFile(chunk.subarray(0, bytesRead));
      at += bytesRead;
    }
  } catch (error) {
    // On a full disk it would occupy the space that others need.
    await rm(copy, { force: true });
    throw error;
  } finally {
    await aside.close();
  }
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
