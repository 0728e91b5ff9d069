import type { DriverRegistry } from '@kedge/driver-sdk';
import { isOnNodes } from './nodes-of-volume.js';

/**
 * Groups of concurrent reconciles of a class whose data is on nodes. Its calls are short and serve this machine, so more
 * of them may run at once than of a provider: they share the syncs of the store and of the storage root.
 */
const lanes = 4;

/** The group of a volume of a class whose data is on nodes. Every volume keeps its group. */
export function laneOf(storageClass: string, key: string): string {
  let sum = 0;
  for (let at = 0; at < key.length; at += 1) sum += key.charCodeAt(at);
  return `${storageClass} ${sum % lanes}`;
}

/** Knows without waiting whether the data of a driver's volumes is on nodes. */
export class NodeDrivers {
  readonly #drivers: DriverRegistry;
  readonly #known = new Map<string, boolean>();

  constructor(drivers: DriverRegistry) {
    this.#drivers = drivers;
  }

  /** False until a driver that was asked for is loaded, and for one that is not registered or not on nodes. */
  has(driver: string): boolean {
    const known = this.#known.get(driver);
    if (known !== undefined) return known;
    this.#known.set(driver, false);
    void isOnNodes(this.#drivers, driver).then(
      (isOn) => this.#known.set(driver, isOn),
      // Each reconcile of a volume loads the driver as well, and reports this error.
      () => this.#known.delete(driver),
    );
    return false;
  }
}
