import type { Volume } from '../../volume/kind.js';
import { shownHandle } from '../../secret/index.js';
import { attachmentsExhausted, usedBy, volumeLabel } from '../../messages/storage.js';

/**
 * Maximum number of attachments of one volume. All are stored in its status: each attachment makes every status write
 * larger and requeues one more instance.
 */
export const attachmentsMax = 128;

/** The reason why a volume can't be staged for a claim now; a change of a volume can resolve it. */
export interface MountObstacle {
  readonly reason: 'VolumeNotReady' | 'VolumeInUse';
  readonly message: string;
}

/** The claim that requests a volume. */
export interface Claimant {
  readonly claim: string;
  readonly node: string;
}

/**
 * The reason why a claim can't use a volume now; undefined if it can. Pure. The holder of another volume with the same
 * storage is an obstacle if one of the two volumes is ReadWriteOnce.
 * @param twins the other volumes with the same storage
 */
export function obstacleOf(
  volume: Volume,
  { claim, node }: Claimant,
  twins: readonly Volume[],
): MountObstacle | undefined {
  const label = labelOf(volume);
  const all = volume.attachments ?? [];
  const mine = all.find((a) => a.claim === claim && a.node === node);
  if (volume.metadata.deletionRequestedAt !== undefined && !mine)
    return { reason: 'VolumeNotReady', message: `${label} is being deleted` };
  // The volume controller calls the driver until the volume is detached.
  if (mine?.state === 'Detaching') {
    const message = `${label} is being detached from ${claim} on node ${node}`;
    return { reason: 'VolumeInUse', message };
  }
  const { status = 'Pending' } = volume;
  // A volume that is Stalled because of an attach of this node: the next call determines its outcome (V20).
  const usable = status === 'Available' || status === 'Bound' || (status === 'Stalled' && mine);
  if (!usable) {
    const why = volume.failureMessage || volume.lastOperation?.message;
    return { reason: 'VolumeNotReady', message: `${label} is ${status}${why ? `: ${why}` : ''}` };
  }
  const elsewhere = all.find((a) => a.claim === claim && a.node !== node);
  if (elsewhere) {
    const message = `${label} is still attached for ${claim} on node ${elsewhere.node}`;
    return { reason: 'VolumeInUse', message };
  }
  const other = all.find((a) => a.claim !== claim);
  if (other && volume.accessMode === 'ReadWriteOnce') {
    const message = `${label} is ReadWriteOnce and ${usedBy.format({ instance: other.claim })}`;
    return { reason: 'VolumeInUse', message };
  }
  // Existing attachments are kept: an earlier release had no limit.
  if (!mine && all.length >= attachmentsMax) {
    const message = `${label} has ${all.length} attachments, and ${attachmentsExhausted.format({ maximum: attachmentsMax })} that mount it, or use another volume with the same data for some of them`;
    return { reason: 'VolumeInUse', message };
  }
  for (const twin of twins) {
    const writes = [twin, volume].some((v) => v.accessMode === 'ReadWriteOnce');
    const user = (twin.attachments ?? []).find((a) => a.claim !== claim);
    if (!user || !writes) continue;
    const message = `${label} and ${labelOf(twin)} have the same handle ${shownHandle(volume.handle) ?? ''}, which is ${usedBy.format({ instance: user.claim })}`;
    return { reason: 'VolumeInUse', message };
  }
  return undefined;
}

/** A volume in messages. */
export function labelOf({ namespace, name }: Volume): string {
  return volumeLabel.format({ volume: `${namespace}/${name}` });
}
