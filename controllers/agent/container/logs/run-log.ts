import { messageOf } from 'kedge';
import type { LogLine } from '../../runtime/log.js';
import type { EngineContainers, LogQuery } from '../engine/engine-containers.js';
import { isEngineError } from '../engine/engine-error.js';
import { LineReader } from '../log-frames.js';
import type { EngineOutages } from '../outages/engine-outages.js';
import { lostOutput } from '../outages/lost-output.js';

/** A run of a workload with its container, whose log can be read. */
export interface LoggedRun {
  readonly run: number;
  readonly container: string;
}

/** The errors of a container that was removed, or is being removed. */
export const removed = ['NotFound', 'Conflict'] as const;

/** The lines of the log of one run. */
export async function* readRun(
  containers: EngineContainers,
  { run, container }: LoggedRun,
  query: LogQuery,
  signal: AbortSignal,
): AsyncGenerator<LogLine> {
  const reader = new LineReader(run, undefined);
  for await (const piece of containers.logs(container, query, signal)) yield* reader.take(piece);
  yield* reader.end();
}

/** Sources of {@link readEndedRun}. */
export interface EndedRunSources {
  readonly containers: EngineContainers;
  readonly outages: EngineOutages;
}

/**
 * The lines of the log of a run that has ended, a line that says so if the engine can't read the rest, and one if the
 * last output may be missing because of an outage of the engine.
 * @throws EngineError; of kind `Failed` not for the log
 */
export async function* readEndedRun(
  { containers, outages }: EndedRunSources,
  logged: LoggedRun,
  signal: AbortSignal,
): AsyncGenerator<LogLine> {
  const { run, container } = logged;
  const cursor = [run, 0, 0, 0];
  try {
    yield* readRun(containers, logged, { follow: false }, signal);
  } catch (error) {
    if (!isEngineError(error, 'Failed')) throw error;
    yield { content: unreadable(run, error), cursor };
  }
  const lost = await lostOutput(containers, outages, container, signal);
  if (lost !== undefined) yield { content: lost, cursor };
}

/**
 * The line in the place of output that the engine can't read: a full disk, for example, leaves a damaged log.
 */
export function unreadable(run: number, error: unknown): string {
  return `[kedge] the engine can't read the rest of the output of run ${run}: ${messageOf(error)}; the next run has a log of its own`;
}
