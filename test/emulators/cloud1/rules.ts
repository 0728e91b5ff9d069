/** A region of the provider. */
export interface Region {
  readonly slug: string;
  readonly name: string;
}

/** The regions in the provider's definition. It adds regions at times, so clients must not have a fixed list. */
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
  /** Maximum number of volumes of a droplet. */
  attachedMax: 15,
  perPage: 20,
  perPageMax: 200,
  nameMax: 64,
  labelMax: { ext4: 16, xfs: 12 },
} as const;

/** Whether a text is a name for volumes: at most 64 lower-case letters, digits and dashes, with a letter first. */
export function isVolumeName(name: string): boolean {
  return /^[a-z][a-z0-9-]*$/.test(name) && name.length <= limits.nameMax;
}

/** Name of the link in /dev/disk/by-id that the system of a droplet creates for an attached volume. */
export function linkOf(volumeName: string): string {
  return `scsi-0DO_Volume_${volumeName}`;
}

/** Number of bytes in one of the provider's "gigabytes": 1024^3. */
export const gib = 2 ** 30;
