import type { Volume } from '../kind.js';

/** Calls of the node's agent; those of this controller look by themselves. */
const callsOfNodes: ReadonlySet<string> = new Set(['attach', 'mount']);

/**
 * The call of a node, by its start, that found that the provider does not have a volume which should be there.
 * Undefined when its last call did not. Pure.
 */
export function missedBy({ status, handle = '', lastOperation }: Volume): string | undefined {
  const wanted = (status === 'Available' || status === 'Bound') && handle !== '';
  if (!wanted || lastOperation?.outcome !== 'NotFound') return undefined;
  return callsOfNodes.has(lastOperation.call) ? lastOperation.startedAt : undefined;
}
