import { parseQuantity } from 'kedge';
import type { StorageClass, Volume } from '../kinds/index.js';

/** What is known when a volume is looked at. */
export interface VolumeSituation {
  readonly volume: Volume;
  readonly storageClass: StorageClass | undefined;
  /** Whether the service that the volume was made for is there and wanted. */
  readonly ownerAlive: boolean;
  /** What a failure would depend on now: volume, class and secrets by version. */
  readonly inputs: string;
}

/** The next thing to do for a volume. */
export type VolumeAction =
  | { readonly type: 'none' }
  /** A Failed volume: tried again on change, and after a long while. */
  | { readonly type: 'recheckLater' }
  /** Deletion waits for the instance that uses it. */
  | { readonly type: 'waitForDetach' }
  | { readonly type: 'startProvisioning'; readonly event: 'resolved' | 'rearmed' }
  | { readonly type: 'provision' }
  | { readonly type: 'observe' }
  | { readonly type: 'expand'; readonly sizeBytes: bigint }
  | { readonly type: 'release' }
  | { readonly type: 'takeBack' }
  /** Delete the data, then the object. */
  | { readonly type: 'reclaim' }
  /** The object goes, the data stays. */
  | { readonly type: 'forget' };

/** The policy that counts at reclaim: the volume's own, else what was captured, else the class's. */
export function effectivePolicy(
  volume: Volume,
  storageClass: StorageClass | undefined,
): 'retain' | 'delete' {
  return (
    volume.reclaimPolicy ?? volume.effectiveReclaimPolicy ?? storageClass?.reclaimPolicy ?? 'retain'
  );
}

function planDeletion(situation: VolumeSituation): VolumeAction {
  const { volume, storageClass } = situation;
  if ((volume.attachments?.length ?? 0) > 0) return { type: 'waitForDetach' };
  switch (volume.status ?? 'Pending') {
    case 'Pending':
      // No intent was stored, so no driver was called.
      return { type: 'forget' };
    case 'Provisioning':
      // V9: to a known outcome first, else what is being made would leak.
      return { type: 'provision' };
    case 'Stalled':
      return { type: 'observe' };
    case 'Available':
    case 'Bound':
    case 'Released':
    case 'Failed':
      return effectivePolicy(volume, storageClass) === 'delete'
        ? { type: 'reclaim' }
        : { type: 'forget' };
  }
}

/** Decides what a volume needs. Pure: all effects are the controller's. */
export function planVolume(situation: VolumeSituation): VolumeAction {
  const { volume, ownerAlive, storageClass } = situation;
  if (volume.metadata.deletionRequestedAt !== undefined) return planDeletion(situation);
  const phase = volume.status ?? 'Pending';
  const owned = (volume.ownerService ?? '') !== '';
  const attached = (volume.attachments?.length ?? 0) > 0;
  if (owned && !ownerAlive && !attached) {
    if (phase === 'Available' || phase === 'Failed' || phase === 'Pending')
      return { type: 'release' };
  }
  switch (phase) {
    case 'Pending':
      return { type: 'startProvisioning', event: 'resolved' };
    case 'Provisioning':
      return { type: 'provision' };
    case 'Stalled':
      return { type: 'observe' };
    case 'Failed':
      if ((volume.handle ?? '') !== '') return { type: 'recheckLater' };
      return volume.failedWith === situation.inputs
        ? { type: 'recheckLater' }
        : { type: 'startProvisioning', event: 'rearmed' };
    case 'Released':
      if (owned && ownerAlive && (volume.handle ?? '') !== '') return { type: 'takeBack' };
      return effectivePolicy(volume, storageClass) === 'delete'
        ? { type: 'reclaim' }
        : { type: 'none' };
    case 'Available':
    case 'Bound': {
      const wanted = parseQuantity(volume.size) ?? 0n;
      return wanted > BigInt(volume.sizeBytes ?? '0')
        ? { type: 'expand', sizeBytes: wanted }
        : { type: 'none' };
    }
  }
}
