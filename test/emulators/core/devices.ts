/** A change of a provider's disks. */
export type DeviceChange =
  | {
      readonly type: 'created';
      readonly volume: string;
      readonly sizeBytes: number;
      /** Id of the snapshot with the initial content; absent for an empty volume. */
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
  /** Returns the existing resources, such as images, devices and links: one text for each. */
  inventory(): Promise<readonly string[]>;
  /** Ends pending work; disks and attachments stay. */
  close(): Promise<void>;
}

/** Devices for tests that only need the API. They only record the changes. */
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
