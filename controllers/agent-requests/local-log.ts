import { type LogLine, type LogRequest, type Runtime, runtimeFailure } from '../agent/index.js';
import type { CommandTarget } from './start-command.js';

function runtimeOf(runtimes: readonly Runtime[], { runtime }: CommandTarget): Runtime | undefined {
  return runtimes.find(({ name }) => name === runtime);
}

/**
 * The log of a workload of this node; empty without its runtime.
 * @throws StatusError FailedPrecondition (RuntimeUnavailable) with the remedy; other errors of the runtime unchanged
 */
export async function* localLog(
  runtimes: readonly Runtime[],
  target: CommandTarget,
  request: LogRequest,
): AsyncIterable<LogLine> {
  const runtime = runtimeOf(runtimes, target);
  if (!runtime) return;
  const { uid, namespace, name } = target;
  try {
    yield* runtime.readLog(uid, request);
  } catch (error) {
    const what = `the log of "${namespace}/${name}" can't be read`;
    throw await runtimeFailure(runtime, what, { kind: 'Instance', namespace, name }, error);
  }
}

/** The output of the previous run of a workload of this node; undefined if there is none. */
export async function localPrevious(
  runtimes: readonly Runtime[],
  target: CommandTarget,
): Promise<AsyncIterable<LogLine> | undefined> {
  return runtimeOf(runtimes, target)?.readPrevious(target.uid);
}
