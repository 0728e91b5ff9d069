import { createHash } from 'node:crypto';
import type { SnapshotIdentity, VolumeIdentity } from '@kedge/driver-sdk';
import { providerName, volumeName } from '@kedge/driver-sdk/provider';

/** Keys of the tags of volumes and snapshots. */
export const tagKeys = {
  uid: 'svc.io/volume-id',
  cluster: 'svc.io/cluster-id',
  object: 'svc.io/created-for',
  name: 'Name',
} as const;

/** The provider permits values of at most 256 characters. */
const valueMax = 256;

function tags(of: Readonly<Record<string, string>>): readonly object[] {
  return Object.entries(of).map(([Key, Value]) => ({ Key, Value: Value.slice(0, valueMax) }));
}

/** The field TagSpecifications for a volume. */
export function volumeTags(volume: VolumeIdentity, cluster: string): readonly object[] {
  const { uid, namespace, name } = volume;
  const Tags = tags({
    [tagKeys.uid]: uid,
    [tagKeys.name]: volumeName(volume),
    [tagKeys.cluster]: cluster,
    [tagKeys.object]: `${namespace}/${name}`,
  });
  return [{ ResourceType: 'volume', Tags }];
}

/** The field TagSpecifications for a snapshot of a volume. */
export function snapshotTags(
  { uid, namespace, name }: SnapshotIdentity,
  source: VolumeIdentity,
  cluster: string,
): readonly object[] {
  const Tags = tags({
    [tagKeys.uid]: source.uid,
    [tagKeys.name]: providerName(uid),
    [tagKeys.cluster]: cluster,
    [tagKeys.object]: `${namespace}/${name}`,
  });
  return [{ ResourceType: 'snapshot', Tags }];
}

/**
 * The ClientToken of an attempt to create a volume: 64 characters, the provider's maximum. The provider returns the
 * volume of a token for hours even if the volume has failed, so the attempt after a failure has another epoch.
 */
export function clientToken(uid: string, epoch: number): string {
  return createHash('sha256').update(`${uid} ${epoch}`).digest('hex');
}
