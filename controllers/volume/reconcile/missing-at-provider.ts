import type { Volume } from '../kind.js';

/** Calls of the node's agent; this controller probes after its own calls. */
const callsOfNodes: ReadonlySet<string> = new Set(['attach', 'mount']);

/**
 * The start time of a node's call that found the volume missing at the provider. Undefined if its last call did
 * not. Pure.
 */
export function missedBy({ status, handle = '', lastOperation }: Volume): string | undefined {
  const wanted = (status === 'Available' || status === 'Bound') && handle !== '';
  if (!wanted || lastOperation?.outcome !== 'NotFound') return undefined;
  return callsOfNodes.has(lastOperation.call) ? lastOperation.startedAt : undefined;
}
