/** The zones of the provider that this emulator has; the region is the name without the last two characters. */
export const zones: readonly string[] = [
  'europe-west3-a',
  'europe-west3-b',
  'europe-west3-c',
  'us-central1-a',
  'us-central1-b',
];

export function regionOf(zone: string): string {
  return zone.slice(0, zone.lastIndexOf('-'));
}

/** A type of disks. Sizes are in GiB, which the provider calls GB. */
export interface DiskType {
  readonly name: string;
  readonly description: string;
  readonly sizeMin: number;
  readonly sizeMax: number;
  /** The quota of a region that its disks count for. */
  readonly quota: 'SSD_TOTAL_GB' | 'DISKS_TOTAL_GB';
}

const sizeMax = 65_536;

export const diskTypes: readonly DiskType[] = [
  {
    ...{ name: 'pd-balanced', description: 'Balanced Persistent Disk' },
    ...{ sizeMin: 1, sizeMax, quota: 'SSD_TOTAL_GB' },
  },
  {
    ...{ name: 'pd-ssd', description: 'SSD Persistent Disk' },
    ...{ sizeMin: 1, sizeMax, quota: 'SSD_TOTAL_GB' },
  },
  {
    ...{ name: 'pd-standard', description: 'Standard Persistent Disk' },
    ...{ sizeMin: 1, sizeMax, quota: 'DISKS_TOTAL_GB' },
  },
  {
    ...{ name: 'pd-extreme', description: 'Extreme Persistent Disk' },
    ...{ sizeMin: 500, sizeMax, quota: 'SSD_TOTAL_GB' },
  },
];

/** Limits of the provider. */
export const limits = {
  /** Size of an empty disk if the request has none. */
  sizeDefault: 500,
  /** Maximum number of disks of an instance, without its boot disk. */
  attachedMax: 127,
  /** Maximum number of instances to which one disk is attached read-only. */
  readersMax: 10,
  /** Maximum number of operations of one instance that have not ended. */
  pendingMax: 32,
  /** Maximum number of snapshots of one disk within an hour. */
  snapshotsPerHour: 6,
  perPage: 500,
  labelsMax: 64,
  /** Duration after which `wait` answers although the operation has not ended. */
  waitMs: 120_000,
} as const;

/** The usual form of a name: RFC 1035. */
export const namePattern = '[a-z](?:[-a-z0-9]{0,61}[a-z0-9])?';

export function isName(name: string): boolean {
  return new RegExp(`^${namePattern}$`).test(name);
}

/** Whether a value is a map of labels. */
export function areLabels(value: unknown): value is Readonly<Record<string, string>> {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return false;
  const entries = Object.entries(value);
  const fits = ([key, text]: readonly [string, unknown]): boolean =>
    /^[a-z][a-z0-9_-]{0,62}$/.test(key) &&
    typeof text === 'string' &&
    /^[a-z0-9_-]{0,63}$/.test(text);
  return entries.length <= limits.labelsMax && entries.every(fits);
}

/** Whether a text is a UUID other than the one of zeros, which the provider does not accept as a request id. */
export function isRequestId(text: string): boolean {
  const uuid = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i.test(text);
  return uuid && /[1-9a-f]/i.test(text);
}

/**
 * Returns the segments of a full or partial URL of a resource at the stars of a pattern such as
 * `zones/*\/diskTypes/*`; undefined if it does not match. The project is left out if the URL has one.
 */
export function urlParts(
  pattern: string,
  url: string,
  project: string,
): readonly string[] | undefined {
  const host = /^https?:\/\/[^/]+\/compute\/v1\//;
  const path = url.replace(host, '').replace(`projects/${project}/`, '');
  const expression = `^${pattern.replaceAll('*', '([^/]+)')}$`;
  return new RegExp(expression).exec(path)?.slice(1);
}

/** Name of the link in /dev/disk/by-id that the system of an instance creates for an attached disk. */
export function linkOf(deviceName: string): string {
  return `google-${deviceName}`;
}

/** Number of bytes in one of the provider's "GB". */
export const gib = 2 ** 30;
