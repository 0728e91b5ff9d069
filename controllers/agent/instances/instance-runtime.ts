import type { Instance } from '../../instance/kind.js';
import type { Runtime } from '../runtime/runtime.js';

const defaultGraceSeconds = 30;

/** Name of the runtime that an instance asks for. */
export function runtimeNameOf({ template }: Instance): string {
  return template.runtime ?? 'container';
}

/** The runtime that an instance asks for; undefined where the node has none of that name. */
export function runtimeOf(runtimes: readonly Runtime[], instance: Instance): Runtime | undefined {
  const wanted = runtimeNameOf(instance);
  return runtimes.find(({ name }) => name === wanted);
}

/** Milliseconds that the workload of an instance gets to end by itself. */
export function graceMsOf({ template }: Instance): number {
  return (template.terminationGracePeriodSeconds ?? defaultGraceSeconds) * 1_000;
}
