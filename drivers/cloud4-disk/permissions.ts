/** A permission of Google Cloud, and the functions that need it (specification section 2.5). */
export interface Permission {
  readonly permission: string;
  readonly needed: string;
}

const provision = 'provisioning, observing and deleting volumes';
const attach = 'attaching and detaching volumes';
const snapshots = 'snapshots';

/** Permissions on disks, which the provider tests on a disk. */
export const diskPermissions: readonly Permission[] = [
  { permission: 'compute.disks.create', needed: provision },
  { permission: 'compute.disks.delete', needed: provision },
  { permission: 'compute.disks.get', needed: provision },
  { permission: 'compute.disks.resize', needed: 'growing volumes' },
  { permission: 'compute.disks.use', needed: attach },
  { permission: 'compute.disks.useReadOnly', needed: 'attaching ReadOnlyMany volumes' },
  { permission: 'compute.disks.createSnapshot', needed: snapshots },
];

/** Permissions on instances, which the provider tests on an instance. */
export const instancePermissions: readonly Permission[] = [
  { permission: 'compute.instances.attachDisk', needed: attach },
  { permission: 'compute.instances.detachDisk', needed: attach },
];

/** Permissions that a read of an absent resource shows. */
export const readPermissions = {
  instance: { permission: 'compute.instances.get', needed: 'finding the instance of a node' },
  zoneOperation: {
    permission: 'compute.zoneOperations.get',
    needed: 'the end of operations on disks',
  },
  globalOperation: {
    permission: 'compute.globalOperations.get',
    needed: 'the end of operations on snapshots',
  },
  snapshot: { permission: 'compute.snapshots.get', needed: snapshots },
} as const satisfies Readonly<Record<string, Permission>>;

/** Permissions that nothing shows without a change. */
export const unprovenPermissions: readonly Permission[] = [
  { permission: 'compute.snapshots.create', needed: snapshots },
  { permission: 'compute.snapshots.delete', needed: snapshots },
  { permission: 'compute.snapshots.useReadOnly', needed: 'restoring snapshots' },
];

/** Every permission once. */
export const allPermissions: readonly Permission[] = [
  ...diskPermissions,
  ...instancePermissions,
  ...Object.values(readPermissions),
  ...unprovenPermissions,
];
