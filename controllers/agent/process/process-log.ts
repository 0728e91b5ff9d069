import { type LogPosition, readLines } from '../../log/log-reader.js';
import { linesBetween } from '../../log/runs.js';
import type { LogCursor, LogLine, LogRequest } from '../runtime/log.js';
import { noteSize, rotate } from './log-rotation.js';
import { runStarts } from './run-log.js';

/** A cursor is an offset in the file, and a check of the bytes before it. */
function positionOf([offset, check]: LogCursor = []): LogPosition | undefined {
  return offset === undefined || check === undefined ? undefined : { offset, check };
}

/** Lines of the file that all runs of a workload share. @param probeMs see the policy */
export async function* readProcessLog(
  file: string,
  { after, ...request }: LogRequest,
  probeMs: number,
): AsyncGenerator<LogLine> {
  const options = { ...request, after: positionOf(after), probeMs };
  for await (const { content, position } of readLines(file, options))
    yield { content, cursor: [position.offset, position.check] };
}

/** Lines of the previous run; undefined if there is none, or its output is not separated. */
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

/** Keeps the log within its bounds, and notes how long it is at `now`. */
export async function keepLogBounded(file: string, now: number): Promise<void> {
  await rotate(file);
  await noteSize(file, now);
}
