import { textOf } from 'kedge/rpc';
import { note } from '../output/output.js';
import { connectTo } from './api.js';

/** The explanation of a store that refuses writes, by its state. */
const refusals: Readonly<Record<string, string>> = {
  FULL: 'the disk of the store is nearly full: free space on it, or delete objects; if very little is left, only objects without finalizers can be deleted',
  POISONED: 'a write failed, and the store is being reopened; check its disk and the log of kedged',
};

/** The state of the daemon's store, such as SERVING or FULL. */
export async function storeState(): Promise<string> {
  const client = await connectTo('kedge');
  try {
    return textOf(await client.call('ObjectService.Status', {}), 'state');
  } finally {
    client.close();
  }
}

/** Why a store with this state refuses writes; undefined if it accepts them. */
export function refusalOf(state: string): string | undefined {
  return refusals[state];
}

/**
 * A sentence for output that shows states of objects while the store refuses writes: controllers and agents can't record
 * what changes meanwhile, such as the end of a workload. Undefined if the store accepts writes, or if its state is
 * unknown.
 */
export async function staleStates(): Promise<string | undefined> {
  // Only an addition to objects that were read.
  const refusal = refusalOf(await storeState().catch(() => ''));
  return (
    refusal &&
    `States may be out of date, for example of a workload that ended since, because writes are refused: ${refusal}.`
  );
}

/** Prints {@link staleStates} to standard error. */
export async function noteStaleStates(): Promise<void> {
  const stale = await staleStates();
  if (stale !== undefined) note(stale);
}
