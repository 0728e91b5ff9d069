import type { FileHandle } from 'node:fs/promises';
import { openLogToRead } from './log-file.js';
import { holds, type LogPosition, type ReadLine, restOf } from './log-lines.js';

/** Maximum number of rotated files. `<file>.1` is the newest. */
export const rotatedMax = 3;

/** A rotated file of a log. */
export interface RotatedLog {
  readonly file: FileHandle;
  /** Identifies the file: each rotation renames it. */
  readonly inode: number;
  readonly size: number;
  /** The times of its first and its last line are between these two, milliseconds since the epoch. */
  readonly beganAt: number;
  readonly endedAt: number;
}

/** A place in the files of a log. */
export interface LogPlace {
  /** The rotated file; undefined for the current one. */
  readonly log: RotatedLog | undefined;
  readonly offset: number;
  /** Whether output before the place may be missing. */
  readonly isLost: boolean;
  /** The inode of the newest rotated file. */
  readonly newest: number | undefined;
}

/** The index of a place among the rotated files, the newest first; -1 for the current file. */
export interface Choice {
  readonly at: number;
  readonly offset: number;
  readonly isLost?: boolean;
}

/** The rotated files of a log, the newest first. */
async function openRotated(path: string): Promise<readonly RotatedLog[]> {
  const logs: RotatedLog[] = [];
  try {
    for (let n = rotatedMax; n >= 1; n -= 1) {
      const file = await openLogToRead(`${path}.${n}`);
      if (!file) continue;
      const { ino: inode, size, mtimeMs: endedAt } = await file.stat();
      logs.unshift({ file, inode, size, beganAt: logs[0]?.endedAt ?? 0, endedAt });
    }
    return logs;
  } catch (error) {
    await close(logs);
    throw error;
  }
}

async function close(logs: readonly RotatedLog[]): Promise<void> {
  await Promise.all(logs.map(({ file }) => file.close()));
}

/** The place that `choose` selects among the rotated files, which are the newest first. The caller closes its file. */
export async function choosePlace(
  path: string,
  choose: (logs: readonly RotatedLog[]) => Choice | Promise<Choice>,
): Promise<LogPlace> {
  const logs = await openRotated(path);
  let log: RotatedLog | undefined;
  try {
    const { at, offset, isLost = false } = await choose(logs);
    log = logs[at];
    return { log, offset, isLost, newest: logs[0]?.inode };
  } finally {
    await close(logs.filter((each) => each !== log));
  }
}

/** The rotated file that contains a position; else the start of the oldest file, as lost output. */
export async function choosePosition(
  logs: readonly RotatedLog[],
  position: LogPosition,
): Promise<Choice> {
  for (const [at, { file }] of logs.entries())
    if (await holds(file, position)) return { at, offset: position.offset };
  return { at: logs.length - 1, offset: 0, isLost: true };
}

/**
 * The place of a reader's position after the current file was truncated.
 * @param older the inode of the newest rotated file before the truncation
 */
export function placeAfterTruncation(
  path: string,
  older: number | undefined,
  position: LogPosition,
): Promise<LogPlace> {
  return choosePlace(path, (logs) => {
    const before = logs.findIndex(({ inode }) => inode === older);
    // The reader may have read lines that were written after the copy: then nothing follows the offset.
    if (before > 0) return { at: before - 1, offset: position.offset };
    // Truncated, but not rotated.
    if (before === 0) return { at: -1, offset: 0, isLost: true };
    const isFirst = older === undefined && logs.length > 0 && logs.length < rotatedMax;
    return isFirst
      ? { at: logs.length - 1, offset: position.offset }
      : choosePosition(logs, position);
  });
}

/** The start of the file after a rotated one. */
function placeAfter(path: string, { inode }: RotatedLog): Promise<LogPlace> {
  return choosePlace(path, (logs) => {
    const at = logs.findIndex((log) => log.inode === inode);
    return at >= 0 ? { at: at - 1, offset: 0 } : { at: logs.length - 1, offset: 0, isLost: true };
  });
}

/**
 * Lines of the rotated files from a place on, also of those that are rotated meanwhile. A line reports lost output.
 * Returns the inode of the newest rotated file, which the current file follows.
 * @param position the position of the reader
 */
export async function* rotatedLines(
  path: string,
  first: LogPlace,
  position: LogPosition,
): AsyncGenerator<ReadLine, number | undefined> {
  let reached = position;
  for (let place = first; ; ) {
    const { log } = place;
    try {
      if (place.isLost) yield { content: lostLine, position: reached, asideAfter: 0 };
      if (!log) return place.newest;
      for await (const line of restOf(log.file, place.offset)) {
        reached = line.position;
        yield { ...line, asideAfter: log.beganAt };
      }
    } finally {
      await log?.file.close();
    }
    place = await placeAfter(path, log);
  }
}

const lostLine =
  '[kedge] the log was rotated or truncated before it was read to its end; output before this line may be missing';
