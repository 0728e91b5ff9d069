import type { LogRequest } from '../../runtime/log.js';
import type { EngineContainers, LogQuery } from '../engine/engine-containers.js';
import { isEngineError } from '../engine/engine-error.js';
import { disorderSeconds, type Place } from '../log-frames.js';
import { type LoggedRun, readRun, removed } from './run-log.js';

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

/**
 * The number of last frames of each run that contain the last `tail` lines. A frame is nearly always one line. A run whose
 * log can't be read counts as empty.
 * @throws EngineError
 */
export async function tails(
  containers: EngineContainers,
  runs: readonly LoggedRun[],
  { tail, since, signal }: LogRequest,
): Promise<ReadonlyMap<number, number>> {
  const limits = new Map<number, number>();
  if (tail <= 0) return limits;
  let left = tail;
  for (const logged of runs.toReversed()) {
    limits.set(logged.run, left);
    if (left === 0) continue;
    const query = { follow: false, tail: left, ...sinceOf(since) };
    let lines = 0;
    try {
      for await (const _line of readRun(containers, logged, query, signal)) lines += 1;
    } catch (error) {
      // It is reported when its lines are read.
      if (!isEngineError(error, 'Failed', ...removed)) throw error;
    }
    left = Math.max(0, left - lines);
  }
  return limits;
}
