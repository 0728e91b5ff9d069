/** A change of a provider's disks, in the order in which the provider made them. */
export type DeviceChange =
  | {
      readonly type: 'created';
      readonly volume: string;
      readonly sizeBytes: number;
      /** The snapshot whose content it has. */
      readonly from?: string;
    }
  | { readonly type: 'deleted'; readonly volume: string }
  | { readonly type: 'resized'; readonly volume: string; readonly sizeBytes: number }
  | {
      readonly type: 'attached' | 'detached';
      readonly volume: string;
      /** The name of the instance. */
      readonly instance: string;
      /** The name of the link in /dev/disk/by-id. */
      readonly link: string;
    }
  | { readonly type: 'snapshotted'; readonly volume: string; readonly snapshot: string }
  | { readonly type: 'snapshotDeleted'; readonly snapshot: string };

/** The disks behind an emulator. */
export interface Devices {
  /** Makes a change. The emulator waits for it before it answers any request. */
  apply(change: DeviceChange): Promise<void>;
  /** What exists: `volume ID`, `snapshot ID`, `link NAME`. */
  inventory(): Promise<readonly string[]>;
  /** Ends pending work; disks and attachments stay. */
  close(): Promise<void>;
}

/** Devices for tests of the wire alone: it remembers the changes. */
export class RecordedDevices implements Devices {
  readonly changes: DeviceChange[] = [];

  async apply(change: DeviceChange): Promise<void> {
    this.changes.push(change);
  }

  async inventory(): Promise<readonly string[]> {
    return [];
  }

  async close(): Promise<void> {
    // Nothing is pending.
  }
}
