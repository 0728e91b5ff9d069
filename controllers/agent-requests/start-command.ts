import { type Clock, failedPrecondition, messageOf, sleep, StatusError, within } from 'kedge';
import { type ExecProcess, type ExecSpec, type Runtime, runtimeFailure } from '../agent/index.js';
import type { Instance } from '../instance/kind.js';
import { runtimeMissing } from '../messages/starts.js';

/** The workload of an instance, with the facts that messages name. */
export interface CommandTarget {
  readonly uid: string;
  readonly runtime: string;
  readonly namespace: string;
  readonly name: string;
  readonly status: string;
}

/** The target of a stored instance. */
export function targetOf({
  metadata,
  template,
  namespace,
  name,
  status = 'Pending',
}: Instance): CommandTarget {
  return { uid: metadata.uid, runtime: template.runtime ?? 'container', namespace, name, status };
}

/** Time in which a command must start. Each call of a container engine has a deadline of its own, which is as long. */
const startMs = 30_000;

/** The arguments and dependencies of the start of a command. */
export interface CommandStarter {
  /** The node of the runtimes, for messages. */
  readonly node: string;
  readonly runtimes: readonly Runtime[];
  readonly clock: Clock;
}

/**
 * The container of an instance, for a command that a user types; undefined without one. The agent of another node wrote
 * it, so anything but an id is not shown.
 */
export function containerOf({
  containerId = '',
}: Pick<Instance, 'containerId'>): string | undefined {
  return /^[0-9a-f]{12,64}$/.test(containerId) ? containerId : undefined;
}

/**
 * Starts a command in a workload of this node. After the deadline no start is begun, and a command that starts is ended.
 * @throws StatusError RuntimeUnavailable, NotRunning, ExecFailed, ExecTimeout
 */
export async function startCommand(
  { node, runtimes, clock }: CommandStarter,
  target: CommandTarget,
  spec: ExecSpec,
): Promise<ExecProcess> {
  const patience = new AbortController();
  const starting = started({ node, runtimes }, target, spec, patience.signal);
  const outcome = await within(starting, async (over) => {
    await sleep(clock, startMs, over);
    if (!over.aborted) patience.abort();
  });
  if (outcome.type === 'done') return outcome.value;
  if (outcome.type === 'failed') throw outcome.error;
  starting.then(
    (command) => command.kill(),
    // It was not started; the caller has the error of the deadline.
    () => undefined,
  );
  const where =
    target.runtime === 'container' ? 'the container engine of its node (docker ps)' : 'its node';
  throw new StatusError({
    code: 'DeadlineExceeded',
    reason: 'ExecTimeout',
    message: `the command did not start in "${target.namespace}/${target.name}" within ${startMs / 1_000} s, and is ended if it starts later; check ${where}, which does not answer or is overloaded, and try again`,
  });
}

async function started(
  { node, runtimes }: Pick<CommandStarter, 'node' | 'runtimes'>,
  { uid, runtime: wanted, namespace, name, status }: CommandTarget,
  spec: ExecSpec,
  late: AbortSignal,
): Promise<ExecProcess> {
  const runtime = runtimes.find((each) => each.name === wanted);
  const resource = { kind: 'Instance', namespace, name };
  if (!runtime?.exec)
    throw failedPrecondition(
      'RuntimeUnavailable',
      `commands can't be run in "${namespace}/${name}": ${runtimeMissing.format({ runtime: wanted, node, runtimes: runtimes.length === 0 ? ['none'] : runtimes.map((each) => each.name) })}; the remedy: kedge why instance/${name} -n ${namespace}`,
      resource,
    );
  const state = await runtime.observe(uid).catch(async (error: unknown) => {
    const what = `commands can't be run in "${namespace}/${name}"`;
    throw await runtimeFailure(runtime, what, resource, error);
  });
  if (state.state !== 'running')
    throw failedPrecondition(
      'NotRunning',
      `the workload of instance "${namespace}/${name}" does not run at present, because it is being started or stopped or has ended (the instance is ${status}); wait until it runs: kedge why instance/${name} -n ${namespace}`,
      resource,
    );
  try {
    // The caller has its error, and may have repeated the command.
    late.throwIfAborted();
    return await runtime.exec(uid, spec);
  } catch (error) {
    throw failedPrecondition(
      'ExecFailed',
      `the command could not be started in "${namespace}/${name}": ${messageOf(error)}`,
      resource,
    );
  }
}
