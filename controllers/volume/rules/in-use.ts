import { isDeleting, type ObjectStore, type Operation } from 'kedge';
import { type Snapshot, snapshots } from '../../snapshot/kind.js';
import { type Volume, volumes } from '../kind.js';

/**
 * Why a volume must not be deleted now, with the way out; undefined when it may be. All of it is the
 * volume's own status: a deletion of the version that was looked at is judged in its commit.
 */
export function deletionObstacle(volume: Volume): string | undefined {
  const { namespace, name, status, boundClaim, attachments = [] } = volume;
  if (status !== 'Bound' && attachments.length === 0) return undefined;
  const claim = boundClaim || attachments[0]?.claim || 'an instance';
  return `volume "${namespace}/${name}" is bound to ${claim}; delete the service or scale it down first`;
}

/** What is looked at of a snapshot of the volume. */
export type Copy = Pick<Snapshot, 'namespace' | 'name' | 'status'> & {
  readonly metadata: Pick<Snapshot['metadata'], 'deletionRequestedAt'>;
};

/** Snapshots that are named in a message. */
const shownCopiesMax = 5;

/** Value of the index `sourceVolume` that the snapshots of a volume have. */
export function sourceValue({ namespace, name }: Pick<Volume, 'namespace' | 'name'>): string {
  return `${namespace}/${name}`;
}

/**
 * Why a volume must not be deleted for the sake of its snapshots, with the way out; undefined when it
 * may be. Once a copy has begun, a deletion waits for its end instead.
 * @param copies all snapshots of the volume
 */
export function waitingCopy(
  volume: Pick<Volume, 'namespace' | 'name'>,
  copies: readonly Copy[],
): string | undefined {
  const waiting = copies.find((s) => (s.status ?? 'Pending') === 'Pending' && !isDeleting(s));
  if (!waiting) return undefined;
  return `volume "${sourceValue(volume)}" is the source of snapshot "${waiting.namespace}/${waiting.name}", which is not made yet; wait until it is, or delete that snapshot first`;
}

/**
 * What a deletion that was asked for waits for, with the way out; undefined when that is nothing.
 * @param copies all snapshots of the volume
 */
export function deletionWaitsFor(
  { namespace, name, attachments = [], snapshotsInFlight = [] }: Volume,
  copies: readonly (Pick<Copy, 'namespace' | 'name'> & {
    readonly metadata: Pick<Snapshot['metadata'], 'uid'>;
  })[],
): string | undefined {
  const label = `the deletion of volume "${namespace}/${name}" waits until`;
  const [attachment] = attachments;
  if (attachment)
    return `${label} instance "${attachment.claim}" on node ${attachment.node} lets go of it; delete its service or scale it down`;
  if (snapshotsInFlight.length === 0) return undefined;
  const made = copies.filter(({ metadata }) => snapshotsInFlight.includes(metadata.uid));
  const names = made.map((copy) => `"${copy.namespace}/${copy.name}"`).sort();
  const shown = [
    ...names.slice(0, shownCopiesMax),
    ...(names.length > shownCopiesMax ? ['others'] : []),
  ];
  return `${label} snapshots of it are made: ${shown.join(', ')}; delete those that are not wanted`;
}

/** What a deletion by a controller does beside asking for it. */
export interface UnusedDeletion {
  /** Whether the data goes, too, whatever the policy of the volume is. With an obstacle the policy stays as it is. */
  readonly withData?: boolean;
  /** What else has to be so in the commit. */
  readonly checks?: readonly Operation[];
}

/**
 * Asks for the deletion of a volume as it was looked at, under the rules of a user's DELETE. What the
 * rules looked at is checked by the commit, so a snapshot that is made meanwhile keeps its source.
 * @returns what is in the way; undefined once the deletion is asked for
 * @throws StatusError Aborted when the volume or its snapshots changed meanwhile, NotFound when it is gone
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

/** A retry makes a failed snapshot wait again, which is a change of status alone. */
function mayWaitAgain(snapshot: Snapshot): boolean {
  return snapshot.status === 'Failed' && !isDeleting(snapshot);
}

function statusCheck({ namespace, name, status, metadata }: Snapshot): Operation {
  const precondition = { uid: metadata.uid, fields: { status } };
  return { op: 'check', kind: snapshots, key: { namespace, name }, precondition };
}
