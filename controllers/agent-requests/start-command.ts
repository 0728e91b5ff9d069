import { failedPrecondition, messageOf } from 'kedge';
import { type ExecProcess, type ExecSpec, type Runtime, runtimeFailure } from '../agent/index.js';
import type { Instance } from '../instance/kind.js';

/** The workload of an instance, and what messages say about it. */
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

/**
 * Starts a command in a workload of this node.
 * @throws StatusError RuntimeUnavailable, NotRunning, ExecFailed
 */
export async function startCommand(
  runtimes: readonly Runtime[],
  { uid, runtime: wanted, namespace, name, status }: CommandTarget,
  spec: ExecSpec,
): Promise<ExecProcess> {
  const runtime = runtimes.find((each) => each.name === wanted);
  const resource = { kind: 'Instance', namespace, name };
  if (!runtime?.exec)
    throw failedPrecondition(
      'RuntimeUnavailable',
      `commands can't be run in "${namespace}/${name}": runtime ${wanted} is not available on this node`,
      resource,
    );
  const state = await runtime.observe(uid).catch(async (error: unknown) => {
    const what = `commands can't be run in "${namespace}/${name}"`;
    throw await runtimeFailure(runtime, what, resource, error);
  });
  if (state.state !== 'running')
    throw failedPrecondition(
      'NotRunning',
      `instance "${namespace}/${name}" is ${status}; commands can be run only in a Running instance`,
      resource,
    );
  try {
    return await runtime.exec(uid, spec);
  } catch (error) {
    throw failedPrecondition(
      'ExecFailed',
      `the command could not be started in "${namespace}/${name}": ${messageOf(error)}`,
      resource,
    );
  }
}
