import type { Clock } from 'kedge';
import type { LogPosition } from '../logs/log-lines.js';
import { readLines } from '../logs/log-reader.js';
import { type LogTime, readLogTimes, timesAt } from '../logs/log-times.js';
import { linesBetween } from '../logs/runs.js';
import type { LogCursor, LogLine, LogRequest } from '../runtime/log.js';
import { noteSize, rotate } from './log-rotation.js';
import { runStarts } from './run-log.js';

/** Parses a cursor: an offset in the file, and a checksum of the bytes before it. Undefined without a complete one. */
function positionOf([offset, check]: LogCursor = []): LogPosition | undefined {
  return offset === undefined || check === undefined ? undefined : { offset, check };
}

/** Dependencies of {@link readProcessLog}. */
export interface ProcessLogOptions {
  readonly clock: Clock;
  readonly probeMs: number;
}

/** Yields the requested lines of a workload's log file, which has the output of all its runs. */
export async function* readProcessLog(
  file: string,
  { after, until, ...request }: LogRequest,
  { clock, probeMs }: ProcessLogOptions,
): AsyncGenerator<LogLine> {
  // Lines after the last record get the time at which they are read. A follower reads them when they are written.
  let notes: readonly LogTime[] | undefined;
  let before = 0;
  const range = { ...request, after: positionOf(after), probeMs };
  for await (const { content, position, asideAfter } of readLines(file, range)) {
    const { offset, check } = position;
    const line = { content, cursor: [offset, check] };
    if (asideAfter !== undefined) {
      if (until !== undefined && asideAfter > until) return;
      yield line;
      continue;
    }
    notes ??= await readLogTimes(file);
    // The records refer to the file before its truncation.
    if (offset < before) notes = [];
    before = offset;
    const { after: notBefore, by = clock.now() } = timesAt(notes, offset);
    if (until !== undefined && notBefore > until) return;
    yield { ...line, time: new Date(by).toISOString() };
  }
}

/** The lines of the previous run; undefined if there is none, or where its output begins or ends is not recorded. */
export function readPreviousRun(file: string): AsyncIterable<LogLine> | undefined {
  const [from, to] = runStarts(file);
  return to && previousLines(file, from, to);
}

async function* previousLines(
  ...between: Parameters<typeof linesBetween>
): AsyncGenerator<LogLine> {
  for await (const { content, position } of linesBetween(...between))
    yield { content, cursor: [position.offset, position.check] };
}

/** Limits the size of the log, and records its size at `now`. */
export async function keepLogBounded(file: string, now: number): Promise<void> {
  await rotate(file);
  await noteSize(file, now);
}
