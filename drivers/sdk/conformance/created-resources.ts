import type { MountRequest, SnapshotIdentity, VolumeIdentity } from '../contract/driver.js';

/** A volume that a check created. */
export interface Made {
  readonly volume: VolumeIdentity;
  readonly handle: string;
}

/** A snapshot that a check created. */
export interface MadeSnapshot {
  readonly snapshot: SnapshotIdentity;
  readonly handle: string;
}

/** A volume that a check mounted. */
export interface Mounted {
  readonly request: MountRequest;
  /** The path of its content. */
  readonly path: string;
  /** Whether the driver mounted it at the target; otherwise the driver returned its own directory. */
  readonly own: boolean;
}

/** The mount of a volume by a check. */
export interface MountChoice {
  readonly readOnly?: boolean;
  readonly mayFormat?: boolean;
}
