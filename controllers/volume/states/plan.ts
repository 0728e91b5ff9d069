import { parseQuantity } from 'kedge';
import type { StorageClass } from '../../storage-class/kind.js';
import type { Volume } from '../kind.js';
import { isDeletionDone, isDeletionUnderWay } from './deletion-report.js';
import { nextPhase, type NextVolumePhase } from './phases.js';

/** What is known when a volume is looked at. */
export interface VolumeSituation {
  readonly volume: Volume;
  readonly storageClass: StorageClass | undefined;
  /**
   * The service that the volume was made for: wanted, being deleted, or gone. A service says until it is gone what
   * becomes of its volumes.
   */
  readonly owner: 'wanted' | 'leaving' | 'gone';
  /** What a failure would depend on now: volume, class and secrets by version. */
  readonly inputs: string;
  /** It is time to look whether the provider still has it. */
  readonly lookDue: boolean;
}

/** Phases in which the data of a volume may be deleted: nobody holds it, and its outcome is known. */
export type ReclaimedFrom = 'Available' | 'Released' | 'Failed';

/** The next thing to do for a volume; `status` is the phase that it leads to. */
export type VolumeAction =
  | { readonly type: 'none' }
  /** A Failed volume: tried again on change, and after a long while. */
  | { readonly type: 'recheckLater' }
  /** Deletion waits: for the instance that uses it, or a snapshot being made. */
  | { readonly type: 'waitForUsers' }
  | {
      readonly type: 'startProvisioning';
      readonly from: 'Pending' | 'Failed';
      readonly status: NextVolumePhase;
    }
  | { readonly type: 'provision' }
  | { readonly type: 'observe' }
  | { readonly type: 'expand'; readonly sizeBytes: bigint }
  | { readonly type: 'release'; readonly status: NextVolumePhase }
  | { readonly type: 'takeBack'; readonly status: NextVolumePhase }
  /** Bound, although nobody holds it. */
  | { readonly type: 'unbind' }
  /** Takes it from a node by hand. */
  | { readonly type: 'detach' }
  /** Whether the provider still has it. */
  | { readonly type: 'look' }
  /** Delete the data, then the object. */
  | { readonly type: 'reclaim'; readonly from: ReclaimedFrom }
  /** The object goes, the data stays. */
  | { readonly type: 'forget'; readonly from: 'Pending' | ReclaimedFrom }
  /** Asks for the deletion of a volume that never held data, since its service is gone. */
  | { readonly type: 'abandon' };

/** Reason of a volume that its provider does not have any more. */
export const lostReason = 'VolumeLost';

/** The policy that counts at reclaim: the volume's own, else what was captured, else the class's. */
export function effectivePolicy(
  volume: Volume,
  storageClass: StorageClass | undefined,
): 'retain' | 'delete' {
  return (
    volume.reclaimPolicy ?? volume.effectiveReclaimPolicy ?? storageClass?.reclaimPolicy ?? 'retain'
  );
}

/** Nothing is taken away while somebody uses it or copies it. */
function inUse(volume: Volume): boolean {
  return (volume.attachments?.length ?? 0) > 0 || (volume.snapshotsInFlight?.length ?? 0) > 0;
}

function hasHandle(volume: Volume): boolean {
  return (volume.handle ?? '') !== '';
}

/**
 * Whether a driver may have been called to make the volume: its name is stored with the intent, in the
 * commit before the first call, and never cleared.
 */
function handedOver(volume: Volume): boolean {
  return hasHandle(volume) || (volume.driver ?? '') !== '';
}

function planDeletion({ volume, storageClass }: VolumeSituation): VolumeAction {
  if (volume.attachments?.some((attachment) => attachment.state === 'Detaching'))
    return { type: 'detach' };
  if (inUse(volume)) return { type: 'waitForUsers' };
  const from = volume.status ?? 'Pending';
  switch (from) {
    case 'Provisioning':
      // V9: to a known outcome first, else what is being made would leak.
      return { type: 'provision' };
    case 'Stalled':
      return { type: 'observe' };
    case 'Bound':
      return { type: 'unbind' };
    case 'Pending':
      // The intent leads out of Pending: no driver was asked.
      return { type: 'forget', from };
    case 'Failed':
    case 'Available':
    case 'Released':
      break;
  }
  // Its node did what the driver has to.
  if (isDeletionDone(volume.conditions)) return { type: 'forget', from };
  // What was never handed to a driver needs none to be deleted, and neither its class nor its secrets.
  if (!handedOver(volume)) return { type: 'forget', from };
  // It never held data, but a try may have left something behind: that is not kept.
  if (!hasHandle(volume)) return { type: 'reclaim', from };
  // What a driver may be deleting already is followed to its end.
  return volume.neverUsed === true ||
    isDeletionUnderWay(volume) ||
    effectivePolicy(volume, storageClass) === 'delete'
    ? { type: 'reclaim', from }
    : { type: 'forget', from };
}

function planReady(situation: VolumeSituation): VolumeAction {
  const { volume, lookDue } = situation;
  const wanted = parseQuantity(volume.size) ?? 0n;
  if (wanted > BigInt(volume.sizeBytes ?? '0')) return { type: 'expand', sizeBytes: wanted };
  return lookDue ? { type: 'look' } : { type: 'none' };
}

/** Decides what a volume needs. Pure: all effects are the controller's. */
export function planVolume(situation: VolumeSituation): VolumeAction {
  const { volume, owner, storageClass } = situation;
  if (volume.metadata.deletionRequestedAt !== undefined) return planDeletion(situation);
  const phase = volume.status ?? 'Pending';
  const owned = (volume.ownerService ?? '') !== '';
  if (volume.attachments?.some((attachment) => attachment.state === 'Detaching'))
    return { type: 'detach' };
  if (owned && owner !== 'wanted' && !inUse(volume)) {
    if (!hasHandle(volume) && (phase === 'Pending' || phase === 'Failed'))
      return { type: 'abandon' };
    if (phase === 'Available' || phase === 'Failed')
      return { type: 'release', status: nextPhase(phase, 'ownerGone') };
  }
  switch (phase) {
    case 'Pending':
      return { type: 'startProvisioning', from: phase, status: nextPhase(phase, 'resolved') };
    case 'Provisioning':
      return { type: 'provision' };
    case 'Stalled':
      // With an attachment the node's agent is the one who can see how it ended.
      return (volume.attachments?.length ?? 0) > 0 ? { type: 'none' } : { type: 'observe' };
    case 'Failed':
      if (hasHandle(volume))
        // Without a recorded failure only the driver can tell: the status was written by hand, say.
        return !volume.failedWith || (volume.reason === lostReason && situation.lookDue)
          ? { type: 'look' }
          : { type: 'recheckLater' };
      return volume.failedWith === situation.inputs
        ? { type: 'recheckLater' }
        : { type: 'startProvisioning', from: phase, status: nextPhase(phase, 'rearmed') };
    case 'Released':
      // Without a handle there is nothing to keep; its service, if it is back, makes it anew.
      if (owned && !hasHandle(volume) && !inUse(volume)) return { type: 'abandon' };
      if (owned && owner === 'wanted')
        return { type: 'takeBack', status: nextPhase(phase, 'ownerBack') };
      // Its service may override the policy in the commit in which it goes.
      if (owned && owner === 'leaving') return { type: 'none' };
      return effectivePolicy(volume, storageClass) === 'delete' && !inUse(volume)
        ? { type: 'reclaim', from: phase }
        : { type: 'none' };
    case 'Available':
    case 'Bound':
      return planReady(situation);
  }
}
