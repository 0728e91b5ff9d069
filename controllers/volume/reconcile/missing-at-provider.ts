import type { Volume } from '../kind.js';

/** Calls of the node's agent; this controller probes after its own calls. */
const callsOfNodes: ReadonlySet<string> = new Set(['attach', 'mount']);

/**
 * The start time of the node's call that found a volume missing at its provider. Undefined if the last call was another
 * one or had another outcome, and for a volume that is neither Available nor Bound. Pure.
 */
export function missedBy({ status, handle = '', lastOperation }: Volume): string | undefined {
  const wanted = (status === 'Available' || status === 'Bound') && handle !== '';
  if (!wanted || lastOperation?.outcome !== 'NotFound') return undefined;
  return callsOfNodes.has(lastOperation.call) ? lastOperation.startedAt : undefined;
}
