import { hasCode, messageOf } from 'kedge/objects';
import { textOf } from 'kedge/rpc';
import { printable } from '../../terminal-text.js';
import { note } from '../output/output.js';
import { connectTo } from './api.js';
import { causeIn } from './connection-faults.js';

/** The explanation of a store that refuses writes, by its state. */
const refusals: Readonly<Record<string, string>> = {
  FULL: 'the disk of the store is nearly full: free space on it, or delete objects; if very little is left, only objects without finalizers can be deleted',
  POISONED: 'a write failed, and the store is being reopened; check its disk and the log of kedged',
};

/** The state of the daemon's store, such as SERVING or FULL, over the connection of the last client. */
export async function storeState(signal?: AbortSignal): Promise<string> {
  const client = await connectTo('kedge');
  try {
    const options = signal ? { signal } : {};
    return textOf(await client.call('ObjectService.Status', {}, options), 'state');
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
 * what changes meanwhile, such as the end of a workload. Another one if the state of the store can't be read. Undefined if
 * the store accepts writes, if the server does not report its state, or if the signal aborts.
 */
export async function staleStates(
  signal?: AbortSignal,
  read: typeof storeState = storeState,
): Promise<string | undefined> {
  try {
    const refusal = refusalOf(await read(signal));
    return (
      refusal &&
      `States may be out of date, for example of a workload that ended since, because writes are refused: ${refusal}.`
    );
  } catch (error) {
    // The server is of an earlier release.
    if (signal?.aborted || hasCode(error, 'Unimplemented')) return undefined;
    const cause = printable(causeIn(messageOf(error)));
    return `States may be out of date: the state of the store can't be read (${cause}); repeat the command.`;
  }
}

/** Prints {@link staleStates} to standard error. */
export async function noteStaleStates(signal?: AbortSignal): Promise<void> {
  const stale = await staleStates(signal);
  if (stale !== undefined) note(stale);
}
