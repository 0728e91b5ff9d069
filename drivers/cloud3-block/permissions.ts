import type { Action } from './sdk.js';

/** A permission of the provider that the driver needs. */
export interface Permission {
  readonly action: Action;
  /** The operations that need it. */
  readonly needed: string;
  /** The input with which `kedge driver check` asks for it. It names no resource that exists. */
  readonly dryRun: Readonly<Record<string, unknown>>;
  /** Every operation works without it. */
  readonly optional?: boolean;
}

const VolumeId = 'vol-00000000000000000';
const SnapshotId = 'snap-00000000000000000';
const InstanceId = 'i-00000000000000000';
const snapshots = 'snapshots, only if they are used on this class';

/** The permissions of specification section 2.5, and one without which growth is observed less well. */
export const permissions: readonly Permission[] = [
  { action: 'DescribeVolumes', needed: 'observing volumes', dryRun: { MaxResults: 5 } },
  { action: 'CreateVolume', needed: 'provisioning', dryRun: { Size: 1 } },
  {
    action: 'CreateTags',
    needed: 'provisioning: volumes and snapshots are tagged when they are created',
    dryRun: { Resources: [VolumeId], Tags: [{ Key: 'Name', Value: 'kedge' }] },
  },
  { action: 'DeleteVolume', needed: 'deleting volumes', dryRun: { VolumeId } },
  {
    action: 'DescribeInstances',
    needed: 'finding the instance of a node',
    dryRun: { MaxResults: 5 },
  },
  {
    action: 'AttachVolume',
    needed: 'attaching',
    dryRun: { VolumeId, InstanceId, Device: '/dev/xvdaa' },
  },
  { action: 'DetachVolume', needed: 'detaching', dryRun: { VolumeId, InstanceId } },
  { action: 'ModifyVolume', needed: 'growing volumes', dryRun: { VolumeId, Size: 2 } },
  {
    action: 'DescribeVolumesModifications',
    needed: 'optional: observing growth; without it a failed growth is only repeated',
    dryRun: { MaxResults: 5 },
    optional: true,
  },
  { action: 'CreateSnapshot', needed: snapshots, dryRun: { VolumeId } },
  {
    action: 'DescribeSnapshots',
    needed: snapshots,
    dryRun: { OwnerIds: ['self'], MaxResults: 5 },
  },
  { action: 'DeleteSnapshot', needed: snapshots, dryRun: { SnapshotId } },
];
