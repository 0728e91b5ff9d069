import { isDeleting } from 'kedge';
import type { Volume } from '../volume/kind.js';
import type { Snapshot } from './kind.js';
import { quotedVolume } from '../messages/storage.js';

/** The fields of a restored volume that {@link snapshotObstacle} reads. */
export type MadeVolume = Pick<Volume, 'namespace' | 'name' | 'status'> & {
  readonly metadata: { readonly deletionRequestedAt?: string };
};

/**
 * Returns why a snapshot can't be deleted: a volume that is created from it is not provisioned yet. Undefined if there
 * is none. A restore in progress delays the deletion instead.
 */
export function snapshotObstacle(
  { namespace, name }: Pick<Snapshot, 'namespace' | 'name'>,
  made: readonly MadeVolume[],
): string | undefined {
  const waiting = made.find((v) => (v.status ?? 'Pending') === 'Pending' && !isDeleting(v));
  return (
    waiting &&
    `snapshot "${namespace}/${name}" is the source of ${quotedVolume.format({ volume: `${waiting.namespace}/${waiting.name}` })}, which is not provisioned yet; wait until the volume is provisioned, or delete it first`
  );
}
