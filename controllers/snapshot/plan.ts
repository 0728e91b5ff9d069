import type { Volume } from '../volume/kind.js';
import type { Snapshot } from './kind.js';
import { isDeletionDone } from '../provisioned/conditions.js';
import { hasNoCredential, isAboutCaller, isRefusal } from '../provisioned/failure.js';
import { deletionAnswer, isEarlierCallOpen } from './deletion-report.js';
import { nextPhase, type NextSnapshotPhase } from './phases.js';
import type { Reason } from '../reasons/index.js';
import { quotedVolume, sourceDeleting, sourceMissing } from '../messages/storage.js';

/** The inputs of a plan for a snapshot. */
export interface SnapshotSituation {
  readonly snapshot: Snapshot;
  /** Its source volume, if it exists. */
  readonly source: Volume | undefined;
  /**
   * The present inputs of a failure: snapshot and secrets by version, and the parameters of class and source that
   * changed since they were captured.
   */
  readonly inputs: string;
  /** An existence probe is due. */
  readonly probeDue: boolean;
  /**
   * Whether something of it may be at its provider, or is being deleted there. Only read if {@link dependsOnCalls}; else
   * false.
   */
  readonly hasOpenCall: boolean;
}

/** The next action for a snapshot. */
export type SnapshotAction =
  | { readonly type: 'none' }
  /** S2: reports the reason of its wait. */
  | { readonly type: 'wait'; readonly reason: Reason; readonly message: string }
  /** S10: reports the volumes that are being restored from it. */
  | { readonly type: 'waitForRestores' }
  | { readonly type: 'start'; readonly source: Volume }
  | { readonly type: 'create' }
  | { readonly type: 'retry' }
  | { readonly type: 'probe' }
  | { readonly type: 'startDeleting'; readonly status: NextSnapshotPhase }
  | { readonly type: 'delete' }
  /** Deletes only the object: no driver was called, the copy was deleted, or the reclaim policy keeps it. */
  | { readonly type: 'forget' };

/** Outcomes of a deletion that may be permanent: refused parameters, and a credential such as that of a closed account. */
const lasting: readonly string[] = ['InvalidParameters', 'CredentialsRejected', 'PermissionDenied'];

/** Whether the records of the calls for a snapshot decide about its removal. */
export function dependsOnCalls(snapshot: Snapshot): boolean {
  const isDeleting = snapshot.metadata.deletionRequestedAt !== undefined;
  const isRetained = isDeleting && snapshot.reclaimPolicy === 'retain';
  return isRetained && isAboutCaller(deletionAnswer(snapshot));
}

/** Whether a snapshot in deletion is removed without a deletion at its provider, because of its reclaim policy. */
function isKept({ snapshot, hasOpenCall }: SnapshotSituation): boolean {
  const { handle = '', reclaimPolicy, status } = snapshot;
  if (reclaimPolicy !== 'retain') return false;
  const answer = deletionAnswer(snapshot);
  // Such a call says nothing about an earlier one, which may be deleting the copy. What has no handle was never Ready.
  if (hasNoCredential(answer))
    return !hasOpenCall && (handle === '' || !isEarlierCallOpen(snapshot));
  // A call that may have deleted the copy is repeated until its outcome is known.
  if (status === 'Deleting' && !isRefusal(answer.outcome)) return false;
  // A deletion that the provider accepted is carried out regardless of a later refusal of the caller.
  if (handle !== '') return !isAboutCaller(answer) || !hasOpenCall;
  // Remains of an attempt without a handle are looked for, unless that is refused for a reason that may never end.
  return lasting.includes(answer.outcome);
}

function planDeletion(situation: SnapshotSituation): SnapshotAction {
  const { snapshot } = situation;
  // Driver and parameters are captured before the first call: without them no driver was called.
  const begun = (snapshot.driver ?? '') !== '' || (snapshot.handle ?? '') !== '';
  const phase = snapshot.status ?? 'Pending';
  switch (phase) {
    case 'Pending':
      // Before a retry a driver was called: its remains are looked up by identity.
      if (!begun) return { type: 'forget' };
      return { type: 'startDeleting', status: nextPhase(phase, 'deleting') };
    case 'Creating':
      return { type: 'create' };
    case 'Ready':
    case 'Failed':
      if ((snapshot.restoresInFlight?.length ?? 0) > 0) return { type: 'waitForRestores' };
      if ((phase === 'Failed' && !begun) || isKept(situation)) return { type: 'forget' };
      return { type: 'startDeleting', status: nextPhase(phase, 'deleting') };
    case 'Deleting':
      return begun && !isDeletionDone(snapshot.conditions) && !isKept(situation)
        ? { type: 'delete' }
        : { type: 'forget' };
  }
}

function planStart({ snapshot, source }: SnapshotSituation): SnapshotAction {
  const volume = `${snapshot.namespace}/${snapshot.source.volume}`;
  const wait = (message: string): SnapshotAction => ({
    type: 'wait',
    reason: 'SourceNotReady',
    message,
  });
  if (!source) return wait(`${sourceMissing.format({ volume })}; delete this snapshot`);
  if (source.metadata.deletionRequestedAt !== undefined)
    return wait(sourceDeleting.format({ volume }));
  const { status = 'Pending', handle, failureMessage } = source;
  const usable = status === 'Available' || status === 'Bound' || status === 'Released';
  if (!usable || !handle)
    return wait(
      `${quotedVolume.format({ volume })} is ${status}${failureMessage ? `: ${failureMessage}` : ''}; the snapshot is created once the volume is provisioned`,
    );
  return { type: 'start', source };
}

/** Decides the next action for a snapshot. Pure: the controller has all effects. */
export function planSnapshot(situation: SnapshotSituation): SnapshotAction {
  const { snapshot, inputs, probeDue } = situation;
  if (snapshot.metadata.deletionRequestedAt !== undefined) return planDeletion(situation);
  switch (snapshot.status ?? 'Pending') {
    case 'Pending':
      return planStart(situation);
    case 'Creating':
      return { type: 'create' };
    case 'Ready':
      return probeDue ? { type: 'probe' } : { type: 'none' };
    case 'Deleting':
      return { type: 'delete' };
    case 'Failed':
      return (snapshot.handle ?? '') === '' && snapshot.failedWith !== inputs
        ? { type: 'retry' }
        : { type: 'none' };
  }
}
