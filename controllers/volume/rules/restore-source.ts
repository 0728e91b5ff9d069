import type { Reason } from '../../reasons/index.js';
import { isDeleting, keyString, type Lister, type ObjectStore, parseQuantity } from 'kedge';
import { DriverError, type SnapshotIdentity } from '@kedge/driver-sdk';
import { type Snapshot, snapshots } from '../../snapshot/kind.js';
import { sourceSnapshot, type Volume } from '../kind.js';
import { quotedSnapshot, sizeTooSmall, snapshotMissing } from '../../messages/storage.js';

/** The source snapshot of a volume, or the reason why the volume can't be restored from it yet. */
export type RestoreSource =
  | { readonly type: 'ready'; readonly snapshot: Snapshot }
  | { readonly type: 'waits'; readonly reason: Reason; readonly message: string };

/** The source snapshot of a volume, or why it can't be restored yet; undefined for a volume without a source. */
export function sourceOf(volume: Volume, lister: Lister<Snapshot>): RestoreSource | undefined {
  if (!volume.source) return undefined;
  const key = keyString(sourceSnapshot(volume) ?? { name: volume.source.snapshot });
  const snapshot = lister.get(key);
  const unready = notReady(key, snapshot);
  if (unready !== undefined) return { type: 'waits', reason: 'SnapshotNotReady', message: unready };
  if (!snapshot) return undefined;
  const message = sizeObstacle(volume, snapshot);
  return message === undefined
    ? { type: 'ready', snapshot }
    : { type: 'waits', reason: 'SizeTooSmall', message };
}

/**
 * The snapshot that a volume is being restored from. It is read from the store: the cache of a node's part may lag.
 * @throws DriverError InvalidParameters if the snapshot does not exist, has no handle or does not list the volume
 */
export async function restoredSnapshot(
  volume: Volume,
  store: Pick<ObjectStore, 'get'>,
): Promise<SnapshotIdentity & { readonly handle: string }> {
  const source = sourceSnapshot(volume) ?? { name: '' };
  const snapshot = await store.get(snapshots, source);
  const inFlight = snapshot?.restoresInFlight?.includes(volume.metadata.uid) === true;
  if (!snapshot?.handle || !inFlight)
    throw new DriverError(
      'InvalidParameters',
      `${snapshotMissing.format({ snapshot: keyString(source) })} any more; delete the volume, and restore another snapshot`,
    );
  const { uid } = snapshot.metadata;
  return { uid, name: snapshot.name, namespace: snapshot.namespace, handle: snapshot.handle };
}

function notReady(key: string, snapshot: Snapshot | undefined): string | undefined {
  if (!snapshot)
    return `${snapshotMissing.format({ snapshot: key })}; create it, or delete this volume`;
  const label = quotedSnapshot.format({ snapshot: key });
  if (isDeleting(snapshot)) return `${label} is being deleted`;
  const { name, namespace, status = 'Pending', failureMessage = '' } = snapshot;
  if (status === 'Failed')
    return `${label} is Failed: ${failureMessage}; fix that, then: kedge snapshot retry ${name} -n ${namespace}; or delete this volume`;
  return status === 'Ready' ? undefined : `${label} is ${status}, not Ready yet`;
}

/**
 * Returns why a volume is too small for its snapshot, with the remedy; undefined if it is large enough. Admission can't
 * check it, because the required size is known only once the snapshot is Ready.
 */
function sizeObstacle(
  { namespace, name, size }: Volume,
  { restoreSize, ...snapshot }: Snapshot,
): string | undefined {
  const least = BigInt(restoreSize || '0');
  if ((parseQuantity(size) ?? 0n) >= least) return undefined;
  const small = sizeTooSmall.format({ size, snapshot: keyString(snapshot), least });
  return `${small}; kedge volume resize ${name} ${least} -n ${namespace}, or delete this volume`;
}
