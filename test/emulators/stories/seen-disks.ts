import type { DeviceChange, Devices } from '../core/devices.js';

/** Disks without bytes: only who sees which of them. */
export class SeenDisks implements Devices {
  /** Volumes by instance and link. */
  readonly #links = new Map<string, string>();

  apply(change: DeviceChange): Promise<void> {
    if (change.type === 'attached')
      this.#links.set(`${change.instance} ${change.link}`, change.volume);
    if (change.type === 'detached') this.#links.delete(`${change.instance} ${change.link}`);
    return Promise.resolve();
  }

  inventory(): Promise<readonly string[]> {
    return Promise.resolve([...this.#links.keys()].map((link) => `link ${link}`));
  }

  close(): Promise<void> {
    return Promise.resolve();
  }

  /** The volume that an instance sees under a link; undefined without one. */
  linked(instance: string, link: string): string | undefined {
    return this.#links.get(`${instance} ${link}`);
  }
}
