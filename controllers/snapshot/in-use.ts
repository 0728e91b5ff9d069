import { isDeleting } from 'kedge';
import type { Volume } from '../volume/kind.js';
import type { Snapshot } from './kind.js';

/** What is looked at of a volume that names a snapshot as its source. */
export type MadeVolume = Pick<Volume, 'namespace' | 'name' | 'status'> & {
  readonly metadata: { readonly deletionRequestedAt?: string };
};

/**
 * Why a snapshot can't be deleted: one of the volumes that name it as their source waits to be made.
 * Once the copy has begun the deletion waits for its end, so nothing is in the way then.
 */
export function snapshotObstacle(
  { namespace, name }: Pick<Snapshot, 'namespace' | 'name'>,
  made: readonly MadeVolume[],
): string | undefined {
  const waiting = made.find((v) => (v.status ?? 'Pending') === 'Pending' && !isDeleting(v));
  return (
    waiting &&
    `snapshot "${namespace}/${name}" is the source of volume "${waiting.namespace}/${waiting.name}", which is not made yet; wait until it is, or delete that volume first`
  );
}
