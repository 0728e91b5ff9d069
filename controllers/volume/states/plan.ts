import { findCondition, parseQuantity } from 'kedge';
import type { StorageClass } from '../../storage-class/kind.js';
import type { Volume } from '../kind.js';
import { isDeletionDone } from '../../provisioned/conditions.js';
import { isDeletionUnderWay } from './deletion-report.js';
import { nextPhase, type NextVolumePhase } from './phases.js';

/** The inputs of a plan for a volume. */
export interface VolumeSituation {
  readonly volume: Volume;
  readonly storageClass: StorageClass | undefined;
  /**
   * The owning service: present, being deleted, or deleted. Until it is deleted, the service decides about its
   * volumes.
   */
  readonly owner: 'wanted' | 'leaving' | 'gone';
  /** The present inputs of a failure: volume, class and secrets by version. */
  readonly inputs: string;
  /** An existence probe is due. */
  readonly probeDue: boolean;
}

/** Phases in which the data of a volume may be deleted: it is unused, and its outcome is known. */
export type ReclaimedFrom = 'Available' | 'Released' | 'Failed';

/** The next action for a volume; `status` is the resulting phase. */
export type VolumeAction =
  | { readonly type: 'none' }
  /** A Failed volume: it is retried when its inputs change, and after `failedRecheckMs`. */
  | { readonly type: 'recheckLater' }
  /** The deletion waits for an instance that uses it or a snapshot in progress. */
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
  /** Bound without a holder. */
  | { readonly type: 'unbind' }
  /** Force-detaches it from a node. */
  | { readonly type: 'detach' }
  /** Probes whether the provider still has it. */
  | { readonly type: 'probe' }
  /** Deletes the data, then the object. */
  | { readonly type: 'reclaim'; readonly from: ReclaimedFrom }
  /** Deletes only the object: its data is kept, was deleted, or never existed. */
  | { readonly type: 'forget'; readonly from: 'Pending' | ReclaimedFrom }
  /** Requests the deletion of a volume that never had data, because its service was deleted. */
  | { readonly type: 'abandon' };

/** Reason of a volume that is missing at its provider. */
export const lostReason = 'VolumeLost';

/** The effective reclaim policy: the volume's own, else the captured one, else the class's, else `retain`. */
export function effectivePolicy(
  volume: Volume,
  storageClass: StorageClass | undefined,
): 'retain' | 'delete' {
  return (
    volume.reclaimPolicy ?? volume.effectiveReclaimPolicy ?? storageClass?.reclaimPolicy ?? 'retain'
  );
}

/**
 * Whether a volume without a handle may have data: it was restored from a backup, and may have been provisioned and
 * used after it.
 */
export function mayHaveBeenUsed({ neverUsed }: Volume): boolean {
  return neverUsed === false;
}

/** Whether a volume is attached or being copied. It is not deleted then. */
function inUse(volume: Volume): boolean {
  return (volume.attachments?.length ?? 0) > 0 || (volume.snapshotsInFlight?.length ?? 0) > 0;
}

function hasHandle(volume: Volume): boolean {
  return (volume.handle ?? '') !== '';
}

/**
 * Whether a driver may have been called to provision the volume: the driver's name is stored in the volume with the
 * intent, before the first call, and never cleared.
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
      // V9: determine the outcome first; otherwise a resource would leak.
      return { type: 'provision' };
    case 'Stalled':
      return { type: 'observe' };
    case 'Bound':
      return { type: 'unbind' };
    case 'Pending':
      // Leaving Pending stores the intent, so no driver was called.
      return { type: 'forget', from };
    case 'Failed':
    case 'Available':
    case 'Released':
      break;
  }
  // The node with the data has deleted it.
  if (isDeletionDone(volume.conditions)) return { type: 'forget', from };
  // A volume without a driver call is deleted without driver, class and secrets.
  if (!handedOver(volume)) return { type: 'forget', from };
  // It never had data, but remains of an attempt must be deleted.
  if (!hasHandle(volume) && !mayHaveBeenUsed(volume)) return { type: 'reclaim', from };
  // A deletion that may have started is completed.
  return volume.neverUsed === true ||
    isDeletionUnderWay(volume) ||
    effectivePolicy(volume, storageClass) === 'delete'
    ? { type: 'reclaim', from }
    : { type: 'forget', from };
}

function planReady(situation: VolumeSituation): VolumeAction {
  const { volume, probeDue } = situation;
  const wanted = parseQuantity(volume.size) ?? 0n;
  const has = BigInt(volume.sizeBytes ?? '0');
  if (wanted > has) return { type: 'expand', sizeBytes: wanted };
  // A resize was cancelled: the started expansion is completed, and the driver returns the reached size.
  if (findCondition(volume.conditions, 'Resizing')?.status === 'True')
    return { type: 'expand', sizeBytes: has };
  return probeDue ? { type: 'probe' } : { type: 'none' };
}

/** Decides the next action for a volume. Pure: the controller has all effects. */
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
      // With an attachment only the node's agent can observe the outcome.
      return (volume.attachments?.length ?? 0) > 0 ? { type: 'none' } : { type: 'observe' };
    case 'Failed':
      if (hasHandle(volume))
        // Without a recorded failure, for example after a manual status write, only the driver knows the state.
        return !volume.failedWith || (volume.reason === lostReason && situation.probeDue)
          ? { type: 'probe' }
          : { type: 'recheckLater' };
      return volume.failedWith === situation.inputs
        ? { type: 'recheckLater' }
        : { type: 'startProvisioning', from: phase, status: nextPhase(phase, 'rearmed') };
    case 'Released':
      // Without a handle there is no data. Its service recreates the volume.
      if (owned && !hasHandle(volume) && !inUse(volume)) return { type: 'abandon' };
      if (owned && owner === 'wanted')
        return { type: 'takeBack', status: nextPhase(phase, 'ownerBack') };
      // Its service may override the policy in the commit of its own deletion.
      if (owned && owner === 'leaving') return { type: 'none' };
      return effectivePolicy(volume, storageClass) === 'delete' && !inUse(volume)
        ? { type: 'reclaim', from: phase }
        : { type: 'none' };
    case 'Available':
    case 'Bound':
      return planReady(situation);
  }
}
