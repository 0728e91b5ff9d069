import { type LogLine, type LogRequest, type Runtime, runtimeFailure } from '../agent/index.js';
import type { CommandTarget } from './start-command.js';

function runtimeOf(runtimes: readonly Runtime[], { runtime }: CommandTarget): Runtime | undefined {
  return runtimes.find(({ name }) => name === runtime);
}

/** Returns the error to report for a log that can't be read. */
function unreadable(
  runtime: Runtime,
  { namespace, name }: CommandTarget,
  error: unknown,
): Promise<unknown> {
  const what = `the log of "${namespace}/${name}" can't be read`;
  return runtimeFailure(runtime, what, { kind: 'Instance', namespace, name }, error);
}

/**
 * The log of a workload of this node; empty without its runtime.
 * @throws StatusError FailedPrecondition (RuntimeUnavailable) as {@link runtimeFailure}; other errors of the runtime
 * unchanged
 */
export async function* localLog(
  runtimes: readonly Runtime[],
  target: CommandTarget,
  request: LogRequest,
): AsyncIterable<LogLine> {
  const runtime = runtimeOf(runtimes, target);
  if (!runtime) return;
  try {
    yield* runtime.readLog(target.uid, request);
  } catch (error) {
    throw await unreadable(runtime, target, error);
  }
}

/**
 * The output of the previous run of a workload of this node; undefined if there is none.
 * @throws as {@link localLog}, also while the lines are read
 */
export async function localPrevious(
  runtimes: readonly Runtime[],
  target: CommandTarget,
): Promise<AsyncIterable<LogLine> | undefined> {
  const runtime = runtimeOf(runtimes, target);
  try {
    const lines = await runtime?.readPrevious(target.uid);
    return runtime && lines && previousLines(runtime, target, lines);
  } catch (error) {
    throw runtime ? await unreadable(runtime, target, error) : error;
  }
}

async function* previousLines(
  runtime: Runtime,
  target: CommandTarget,
  lines: AsyncIterable<LogLine>,
): AsyncIterable<LogLine> {
  try {
    yield* lines;
  } catch (error) {
    throw await unreadable(runtime, target, error);
  }
}
