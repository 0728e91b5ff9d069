import type { FileHandle } from 'node:fs/promises';
import { openLogToRead } from './log-file.js';
import { holds, type LogPosition, type ReadLine, restOf } from './log-lines.js';
import { rotatedMax } from './rotated-logs.js';

/** The start of the output of a run. */
export interface RunStart {
  /** Position in the log at that time: the file may have been rotated since. */
  readonly position: LogPosition;
  /** Milliseconds since the epoch, comparable with the times of the files. */
  readonly at: number;
}

/** The index of a start among the files of a log, the oldest first; -1 if it is no longer kept. */
async function placeOf({ position, at }: RunStart, files: readonly FileHandle[]): Promise<number> {
  if (position.offset > 0) {
    for (let place = files.length - 1; place >= 0; place -= 1) {
      const file = files[place];
      if (file && (await holds(file, position))) return place;
    }
    return -1;
  }
  // Offset 0 is in every file: the run wrote into the first file that was modified after its start.
  for (const [place, file] of files.slice(0, -1).entries())
    if ((await file.stat()).mtimeMs >= at) return place;
  return files.length - 1;
}

/**
 * The retained output of an ended run.
 * @param from its start; undefined if unknown, for all output before its end
 * @param to the start of the next run
 */
export async function* linesBetween(
  path: string,
  from: RunStart | undefined,
  to: RunStart,
): AsyncIterable<ReadLine> {
  const files: FileHandle[] = [];
  try {
    for (let n = rotatedMax; n >= 0; n -= 1) {
      const file = await openLogToRead(n === 0 ? path : `${path}.${n}`);
      if (file) files.push(file);
    }
    const last = await placeOf(to, files);
    const begin = from ? await placeOf(from, files) : -1;
    for (let place = Math.max(0, begin); place <= last; place += 1) {
      const file = files[place];
      if (!file) continue;
      const offset = place === begin ? (from?.position.offset ?? 0) : 0;
      yield* restOf(file, offset, place === last ? to.position.offset : Infinity);
    }
  } finally {
    await Promise.all(files.map((file) => file.close()));
  }
}
