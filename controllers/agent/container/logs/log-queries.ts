import type { LogRequest } from '../../runtime/log.js';
import type { EngineContainers, LogQuery } from '../engine/engine-containers.js';
import { isEngineError } from '../engine/engine-error.js';
import { disorderSeconds, LineReader, type Place } from '../log-frames.js';
import { type LoggedRun, removed } from './run-log.js';

/** A time in the engine's form: seconds and nine digits. */
function engineTime(seconds: number, nanoseconds: number): string {
  return `${seconds}.${String(nanoseconds).padStart(9, '0')}`;
}

function sinceOf(since: number | undefined): { readonly since?: string } {
  return since === undefined ? {} : { since: String(since / 1_000) };
}

/** The part of a log to read: from shortly before a position, or from a time on. */
export function rangeOf(
  { since, until }: Pick<LogRequest, 'since' | 'until'>,
  here: Place | undefined,
): Pick<LogQuery, 'since' | 'until'> {
  return {
    ...(here
      ? { since: engineTime(here.seconds - disorderSeconds, here.nanoseconds) }
      : sinceOf(since)),
    ...(until !== undefined && { until: String(until / 1_000) }),
  };
}

/** The last lines of a run. */
export interface Tail {
  /** The number of last frames to read; 0 for none. */
  readonly frames: number;
  /** The number of lines of these frames that are before the last lines. */
  readonly surplus: number;
}

/** The first line of each stream may be the end of a line that began before. */
const cutLinesMax = 2;

/**
 * The last `tail` lines of all runs, by run. A run whose log can't be read counts as empty.
 * @throws EngineError
 */
export async function tails(
  containers: EngineContainers,
  runs: readonly LoggedRun[],
  { tail, since, signal }: LogRequest,
): Promise<ReadonlyMap<number, Tail>> {
  const found = new Map<number, Tail>();
  if (tail <= 0) return found;
  let left = tail;
  for (const logged of runs.toReversed()) {
    found.set(logged.run, { frames: left, surplus: 0 });
    if (left === 0) continue;
    try {
      const last = await tailOf(containers, logged, left, { since, signal });
      found.set(logged.run, last);
      left = Math.max(0, left - last.lines);
    } catch (error) {
      // It is reported when its lines are read.
      if (!isEngineError(error, 'Failed', ...removed)) throw error;
    }
  }
  return found;
}

/** The last lines of a run. Reads more frames until they contain enough lines: a long line has several. */
async function tailOf(
  containers: EngineContainers,
  { run, container }: LoggedRun,
  wanted: number,
  { since, signal }: Pick<LogRequest, 'since' | 'signal'>,
): Promise<Tail & { readonly lines: number }> {
  for (let frames = wanted + cutLinesMax; ; frames *= 2) {
    const reader = new LineReader(run, undefined);
    const query = { follow: false, tail: frames, ...sinceOf(since) };
    let read = 0;
    let lines = 0;
    for await (const piece of containers.logs(container, query, signal)) {
      if (piece.endsFrame) read += 1;
      for (const _line of reader.take(piece)) lines += 1;
    }
    for (const _line of reader.end()) lines += 1;
    if (lines >= wanted + cutLinesMax || read < frames)
      return { frames, lines, surplus: Math.max(0, lines - wanted) };
  }
}

/** All lines but the first ones. */
export async function* withoutFirst<T>(
  source: AsyncIterable<readonly T[]>,
  count: number,
): AsyncGenerator<readonly T[]> {
  let left = count;
  for await (const items of source) {
    const rest = items.slice(left);
    left = Math.max(0, left - items.length);
    if (rest.length > 0) yield rest;
  }
}
