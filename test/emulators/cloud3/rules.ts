/** The zones of each region that the emulator has. */
export const zones: Readonly<Record<string, readonly string[]>> = {
  'eu-central-1': ['eu-central-1a', 'eu-central-1b', 'eu-central-1c'],
  'eu-west-1': ['eu-west-1a', 'eu-west-1b', 'eu-west-1c'],
  'us-east-1': ['us-east-1a', 'us-east-1b', 'us-east-1c', 'us-east-1d'],
  'us-west-2': ['us-west-2a', 'us-west-2b', 'us-west-2c'],
};

export function regionOf(zone: string): string {
  return zone.replace(/[a-z]$/, '');
}

/** The allowed sizes in GiB by volume type. */
export const sizes: Readonly<Record<string, readonly [min: number, max: number]>> = {
  gp2: [1, 16_384],
  gp3: [1, 65_536],
  io1: [4, 16_384],
  io2: [4, 65_536],
  st1: [125, 16_384],
  sc1: [125, 16_384],
  standard: [1, 1_024],
};

/** The allowed provisioned IOPS of the types that have them. */
export const iops: Readonly<Record<string, readonly [min: number, max: number]>> = {
  gp3: [3_000, 80_000],
  io1: [100, 64_000],
  io2: [100, 256_000],
};

/** The allowed throughput of gp3 in MiB/s. */
export const throughput = [125, 2_000] as const;

/** The provider's type of a volume whose request names none. */
export const usualType = 'gp2';

export const limits = {
  tokenMax: 64,
  tokenMs: 24 * 3_600_000,
  modificationsMax: 4,
  modificationWindowMs: 24 * 3_600_000,
  tagsMax: 50,
  tagKeyMax: 127,
  tagValueMax: 256,
  /** Maximum number of unfinished snapshots of one volume. */
  pendingSnapshotsMax: 5,
  /** The smallest and the largest page that a request may ask for. */
  pageMin: 5,
  pageMax: 1_000,
  /** How long a terminated instance stays visible. */
  terminatedMs: 3_600_000,
} as const;

/** A type of instances: how many attachments it has, and whether network interfaces share them. */
export interface InstanceKind {
  readonly attachmentsMax: number;
  readonly limit: 'shared' | 'dedicated';
  readonly hypervisor: 'nitro' | 'xen';
}

/** The types of instances that the emulator has. The first one is that of instances whose type is not given. */
export const instanceKinds = {
  'm5.large': { attachmentsMax: 28, limit: 'shared', hypervisor: 'nitro' },
  'm7i.large': { attachmentsMax: 32, limit: 'dedicated', hypervisor: 'nitro' },
  't2.medium': { attachmentsMax: 39, limit: 'dedicated', hypervisor: 'xen' },
} as const satisfies Readonly<Record<string, InstanceKind>>;

/** Whether a text has the form of a device name that the provider accepts. */
export function isDevice(name: string): boolean {
  return /^\/dev\/(sd[a-z]([1-9]|1[0-5])?|xvd[a-z]|xvd[a-d][a-z])$/.test(name);
}

/** Whether a text is the id of a resource: a prefix, a dash, and 8 or 17 hexadecimal digits. */
export function isId(prefix: string, id: string): boolean {
  return new RegExp(`^${prefix}-([0-9a-f]{8}|[0-9a-f]{17})$`).test(id);
}

/** Name of the link in /dev/disk/by-id that the system of an instance creates for an attached volume. */
export function linkOf(id: string): string {
  return `nvme-Amazon_Elastic_Block_Store_${id.replace('-', '')}`;
}

export const gib = 2 ** 30;
