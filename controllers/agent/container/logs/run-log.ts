import { messageOf } from 'kedge';
import type { LogLine } from '../../runtime/log.js';
import type { EngineContainers, LogQuery } from '../engine/engine-containers.js';
import { isEngineError } from '../engine/engine-error.js';
import { LineReader } from '../log-frames.js';

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

/**
 * The lines of the log of a run that has ended, and a line that says so if the engine can't read the rest.
 * @throws EngineError of other kinds than `Failed`
 */
export async function* readEndedRun(
  containers: EngineContainers,
  logged: LoggedRun,
  signal: AbortSignal,
): AsyncGenerator<LogLine> {
  try {
    yield* readRun(containers, logged, { follow: false }, signal);
  } catch (error) {
    if (!isEngineError(error, 'Failed')) throw error;
    const { run } = logged;
    yield { content: unreadable(run, error), cursor: [run, 0, 0, 0] };
  }
}

/**
 * The line in the place of output that the engine can't read: a full disk, for example, leaves a damaged log.
 */
export function unreadable(run: number, error: unknown): string {
  return `[kedge] the engine can't read the rest of the output of run ${run}: ${messageOf(error)}; the next run has a log of its own`;
}
