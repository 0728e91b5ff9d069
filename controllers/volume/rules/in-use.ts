import { isDeleting, type ObjectStore, type Operation } from 'kedge';
import { type Snapshot, snapshots } from '../../snapshot/kind.js';
import { type Volume, volumes } from '../kind.js';
import { quotedSnapshot, quotedVolume } from '../../messages/storage.js';

/**
 * The reason why a volume can't be deleted now, with the remedy; undefined if its own status permits it. It depends on
 * nothing else, so that the commit of a deletion at this version checks it.
 */
export function deletionObstacle(volume: Volume): string | undefined {
  const { namespace, name, status, boundClaim, attachments = [] } = volume;
  if (status !== 'Bound' && attachments.length === 0) return undefined;
  const claim = boundClaim || attachments[0]?.claim || 'an instance';
  return `${quotedVolume.format({ volume: `${namespace}/${name}` })} is bound to ${claim}; delete the service or scale it down first`;
}

/** The fields of a snapshot that {@link waitingCopy} reads. */
export type Copy = Pick<Snapshot, 'namespace' | 'name' | 'status'> & {
  readonly metadata: Pick<Snapshot['metadata'], 'deletionRequestedAt'>;
};

/** Maximum number of snapshots that a message names. */
const shownCopiesMax = 5;

/** The value of the index `sourceVolume` for snapshots of a volume. */
export function sourceValue({ namespace, name }: Pick<Volume, 'namespace' | 'name'>): string {
  return `${namespace}/${name}`;
}

/**
 * The reason why a volume can't be deleted now, with the remedy: a snapshot of it has not been started. Undefined if
 * there is none. A snapshot in progress delays the deletion instead; see {@link deletionWaitsFor}.
 * @param copies all snapshots of the volume
 */
export function waitingCopy(
  volume: Pick<Volume, 'namespace' | 'name'>,
  copies: readonly Copy[],
): string | undefined {
  const waiting = copies.find((s) => (s.status ?? 'Pending') === 'Pending' && !isDeleting(s));
  if (!waiting) return undefined;
  const snapshot = quotedSnapshot.format({ snapshot: `${waiting.namespace}/${waiting.name}` });
  return `${quotedVolume.format({ volume: sourceValue(volume) })} is the source of ${snapshot}, which is not created yet; wait until the snapshot is created, or delete it first`;
}

/**
 * The reason why a requested deletion of a volume waits, with the remedy: an attachment, or snapshots in progress.
 * Undefined if it does not wait.
 * @param copies all snapshots of the volume
 */
export function deletionWaitsFor(
  { namespace, name, attachments = [], snapshotsInFlight = [] }: Volume,
  copies: readonly (Pick<Copy, 'namespace' | 'name'> & {
    readonly metadata: Pick<Snapshot['metadata'], 'uid'>;
  })[],
): string | undefined {
  const label = `the deletion of ${quotedVolume.format({ volume: `${namespace}/${name}` })} waits until`;
  const [attachment] = attachments;
  if (attachment)
    return `${label} instance "${attachment.claim}" on node ${attachment.node} releases it; delete its service or scale it down`;
  if (snapshotsInFlight.length === 0) return undefined;
  const made = copies.filter(({ metadata }) => snapshotsInFlight.includes(metadata.uid));
  const names = made.map((copy) => `"${copy.namespace}/${copy.name}"`).sort();
  const shown = [
    ...names.slice(0, shownCopiesMax),
    ...(names.length > shownCopiesMax ? ['others'] : []),
  ];
  return `${label} snapshots of it are created: ${shown.join(', ')}; delete those that are not needed`;
}

/** Options of a deletion by a controller. */
export interface UnusedDeletion {
  /**
   * Whether to delete the data regardless of the volume's policy. If the deletion is blocked, the policy is not
   * changed.
   */
  readonly withData?: boolean;
  /** Further checks of the commit. */
  readonly checks?: readonly Operation[];
}

/**
 * Requests the deletion of a volume in the version that was read, under the rules of a user's DELETE. The commit
 * checks the reads of the rules, so that a snapshot created meanwhile keeps its source.
 * @returns the blocker; undefined once the deletion is requested
 * @throws StatusError Aborted if the volume or its snapshots changed meanwhile, NotFound if it was deleted
 */
export async function deleteUnused(
  store: ObjectStore,
  volume: Volume,
  { withData = false, checks = [] }: UnusedDeletion = {},
): Promise<string | undefined> {
  const index = { index: 'sourceVolume', value: sourceValue(volume) } as const;
  const { items, revision } = await store.list(snapshots, index);
  const obstacle = deletionObstacle(volume) ?? waitingCopy(volume, items);
  if (obstacle !== undefined) return obstacle;
  const { namespace, name, metadata } = volume;
  const { uid, resourceVersion } = metadata;
  const seen = { uid, resourceVersion };
  const object: Volume = { ...volume, reclaimPolicy: 'delete' };
  await store.transact([
    { op: 'checkKind', kind: snapshots, revision, ...index },
    ...items.filter(mayWaitAgain).map(statusCheck),
    ...checks,
    withData
      ? { op: 'update', kind: volumes, object, precondition: seen }
      : { op: 'check', kind: volumes, key: { namespace, name }, precondition: seen },
    { op: 'delete', kind: volumes, key: { namespace, name }, precondition: { uid } },
  ]);
  return undefined;
}

/** Whether a failed snapshot may become Pending again. A retry changes only its status. */
function mayWaitAgain(snapshot: Snapshot): boolean {
  return snapshot.status === 'Failed' && !isDeleting(snapshot);
}

function statusCheck({ namespace, name, status, metadata }: Snapshot): Operation {
  const precondition = { uid: metadata.uid, fields: { status } };
  return { op: 'check', kind: snapshots, key: { namespace, name }, precondition };
}
