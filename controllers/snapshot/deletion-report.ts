import type { VolumeOperation } from '@kedge/api/kinds';
import { type Answer, isRefused } from '../provisioned/failure.js';
import type { Snapshot } from './kind.js';

/** Outcome of a call before its end. */
const startedOutcome = 'Started';

type Deleting = Pick<Snapshot, 'lastOperation' | 'metadata' | 'status'>;

/** The last deletion call of a snapshot; undefined if its last call was another one. */
function lastDeletion({ lastOperation }: Deleting): VolumeOperation | undefined {
  return lastOperation?.call === 'deleteSnapshot' ? lastOperation : undefined;
}

/** The answer of the last deletion call; empty without one. */
export function deletionAnswer(snapshot: Deleting): Answer {
  return lastDeletion(snapshot) ?? { outcome: '', message: '' };
}

/**
 * Whether an earlier deletion call may still delete the copy, although the last one was refused: that one is then
 * reported with a time before the request for the deletion.
 */
export function isEarlierCallOpen(snapshot: Deleting): boolean {
  const { deletionRequestedAt = '' } = snapshot.metadata;
  const last = lastDeletion(snapshot);
  return last !== undefined && Date.parse(last.startedAt) < Date.parse(deletionRequestedAt);
}

/**
 * Whether a deletion call of an earlier run may still delete the copy: it had no answer that confirms that it did
 * nothing, or its process was killed. A call without a credential is no answer to an earlier one.
 */
export function mayBeGoing(snapshot: Deleting): boolean {
  if (isEarlierCallOpen(snapshot)) return true;
  const last = lastDeletion(snapshot);
  return last ? !isRefused(last) : snapshot.status === 'Deleting';
}

/**
 * The record of a deletion call that begins after a refused one, so that a kill during it does not look like the end of
 * the refused one; undefined if the last call is not on record as refused.
 */
export function startedAgain(snapshot: Deleting): Pick<Snapshot, 'lastOperation'> | undefined {
  const last = lastDeletion(snapshot);
  if (!last || !isRefused(last)) return undefined;
  return { lastOperation: { ...last, outcome: startedOutcome, message: '', nextTryAt: '' } };
}

/** The start time of a deletion call, not before the request for the deletion: the clocks of nodes differ. */
export function startOfDeletion(
  { metadata: { deletionRequestedAt = '' } }: Deleting,
  now: string,
): string {
  return Date.parse(deletionRequestedAt) > Date.parse(now) ? deletionRequestedAt : now;
}

/** The report of a deletion call that says nothing about an earlier one, which may still delete the copy. */
export function stillOpen(
  { metadata: { deletionRequestedAt = '' } }: Deleting,
  lastOperation: VolumeOperation | undefined,
): Pick<Snapshot, 'lastOperation'> {
  if (!lastOperation) return {};
  const startedAt = new Date(Date.parse(deletionRequestedAt) - 1).toISOString();
  return { lastOperation: { ...lastOperation, startedAt } };
}
