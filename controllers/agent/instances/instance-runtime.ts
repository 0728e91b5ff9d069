import type { Instance } from '../../instance/kind.js';
import { runtimeMissing } from '../../messages/starts.js';
import type { Runtime } from '../runtime/runtime.js';

const defaultGraceSeconds = 30;

/** Name of the runtime of an instance. */
export function runtimeNameOf({ template }: Instance): string {
  return template.runtime ?? 'container';
}

/** The runtime of an instance; undefined if the node does not have it. */
export function runtimeOf(runtimes: readonly Runtime[], instance: Instance): Runtime | undefined {
  const wanted = runtimeNameOf(instance);
  return runtimes.find(({ name }) => name === wanted);
}

/** The message for an instance whose runtime the node does not have. */
export function missingRuntime(
  instance: Instance,
  { node, runtimes }: { readonly node: string; readonly runtimes: readonly Runtime[] },
): string {
  return runtimeMissing.format({
    runtime: runtimeNameOf(instance),
    node,
    runtimes: runtimes.length === 0 ? ['none'] : runtimes.map(({ name }) => name),
  });
}

/** Grace period of an instance's workload in milliseconds. */
export function graceMsOf({ template }: Instance): number {
  return (template.terminationGracePeriodSeconds ?? defaultGraceSeconds) * 1_000;
}

/** Names of the runtimes that are available now. */
export async function availableNames(runtimes: readonly Runtime[]): Promise<readonly string[]> {
  const answers = await Promise.all(runtimes.map((runtime) => runtime.availability()));
  return runtimes.filter((_, index) => answers[index]?.available).map(({ name }) => name);
}
