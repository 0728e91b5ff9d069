import type { Reason } from '../../reasons/index.js';
import { isDeleting, keyString, type Lister, parseQuantity } from 'kedge';
import type { Snapshot } from '../../snapshot/kind.js';
import { sourceSnapshot, type Volume } from '../kind.js';

/** The snapshot that a volume is made from, or why it can't be made from it yet. */
export type RestoreSource =
  | { readonly type: 'ready'; readonly snapshot: Snapshot }
  | { readonly type: 'waits'; readonly reason: Reason; readonly message: string };

/** The Ready snapshot a volume is made from; undefined for a volume that is made empty. */
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

function notReady(key: string, snapshot: Snapshot | undefined): string | undefined {
  if (!snapshot) return `snapshot "${key}" does not exist; create it, or delete this volume`;
  if (isDeleting(snapshot)) return `snapshot "${key}" is being deleted`;
  const { name, namespace, status = 'Pending', failureMessage = '' } = snapshot;
  if (status === 'Failed')
    return `snapshot "${key}" is Failed: ${failureMessage}; fix that, then: kedge snapshot retry ${name} -n ${namespace}; or delete this volume`;
  return status === 'Ready' ? undefined : `snapshot "${key}" is ${status}, not Ready yet`;
}

/**
 * Why a volume can't be made from a snapshot, with the remedy. Its creation can't be judged by it: what a snapshot
 * needs is known once it is Ready.
 */
function sizeObstacle(
  { namespace, name, size }: Volume,
  { restoreSize, ...snapshot }: Snapshot,
): string | undefined {
  const least = BigInt(restoreSize || '0');
  if ((parseQuantity(size) ?? 0n) >= least) return undefined;
  const source = `snapshot "${snapshot.namespace}/${snapshot.name}"`;
  return `its size ${size} is less than ${source} requires: ${least} bytes; kedge volume resize ${name} ${least} -n ${namespace}, or delete this volume`;
}
