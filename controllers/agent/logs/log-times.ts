import { readLogText } from './log-file.js';

/** The size of a log at a time. */
export interface LogTime {
  /** Milliseconds since the epoch. */
  readonly at: number;
  readonly offset: number;
}

/** Path of the file that stores the times of a log. */
export function logTimes(file: string): string {
  return `${file}.times`;
}

/** The size records of a log, the oldest first. */
export async function readLogTimes(file: string): Promise<readonly LogTime[]> {
  const text = (await readLogText(logTimes(file))) ?? '';
  return text.split('\n').flatMap((line) => {
    const [at, offset] = line.split(' ').map(Number);
    return Number.isFinite(at) && Number.isFinite(offset)
      ? [{ at: at as number, offset: offset as number }]
      : [];
  });
}

/**
 * The time interval in which the log reached an offset: later than `after`, and not later than `by`. `by` is undefined
 * for an offset beyond the last record.
 */
export function timesAt(
  notes: readonly LogTime[],
  offset: number,
): { readonly after: number; readonly by: number | undefined } {
  return {
    after: notes.findLast((note) => note.offset < offset)?.at ?? 0,
    by: notes.find((note) => note.offset >= offset)?.at,
  };
}

/** An offset from which the log contains every line since a time: at most one record too early. */
export async function offsetSince(file: string, since: number): Promise<number> {
  const before = (await readLogTimes(file)).filter(({ at }) => at <= since);
  return before.at(-1)?.offset ?? 0;
}
