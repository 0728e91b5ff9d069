/** The regions of the provider, with the state of their block storage. */
export interface Region {
  readonly slug: string;
  readonly name: string;
}

/** Regions by slug. The list of the provider's definition; it grows, so clients must not compare with it. */
export const regions: readonly Region[] = [
  { slug: 'ams3', name: 'Amsterdam 3' },
  { slug: 'blr1', name: 'Bangalore 1' },
  { slug: 'fra1', name: 'Frankfurt 1' },
  { slug: 'lon1', name: 'London 1' },
  { slug: 'nyc1', name: 'New York 1' },
  { slug: 'nyc3', name: 'New York 3' },
  { slug: 'sfo3', name: 'San Francisco 3' },
  { slug: 'sgp1', name: 'Singapore 1' },
  { slug: 'syd1', name: 'Sydney 1' },
  { slug: 'tor1', name: 'Toronto 1' },
];

/** Limits of the provider. */
export const limits = {
  /** GiB. */
  sizeMin: 1,
  sizeMax: 16_384,
  /** Volumes a droplet can have. */
  attachedMax: 15,
  perPage: 20,
  perPageMax: 200,
  nameMax: 64,
  labelMax: { ext4: 16, xfs: 12 },
} as const;

/** Names of volumes: lower case, digits and dashes, a letter first. */
export function isVolumeName(name: string): boolean {
  return /^[a-z][a-z0-9-]*$/.test(name) && name.length <= limits.nameMax;
}

/** The link that the system of a droplet makes for an attached volume. */
export function linkOf(volumeName: string): string {
  return `scsi-0DO_Volume_${volumeName}`;
}

/** One of the provider's "gigabytes", which are 1024^3 bytes. */
export const gib = 2 ** 30;
