import { basename } from 'node:path';
import { type Driver, DriverError } from '@kedge/driver-sdk';
import type { ConformanceOptions } from '@kedge/driver-sdk/conformance';
import type { ProviderName } from '../index.js';
import { elsewhere, EmulatedCloud, here } from './emulated-cloud.js';

/**
 * A cloud driver as a subject of the conformance suite, in one process on the injected clock. Its volumes are mounted
 * without a device: attach returns an empty path, and mount returns the directory of the attached disk.
 */
export class EmulatedSubject {
  readonly cloud: EmulatedCloud;
  /** Links of attached disks by the handle of the volume. */
  readonly #links = new Map<string, string>();

  constructor(provider: ProviderName, folder: string) {
    // The instances of the driver in the suite do not share their budgets, so together they exceed the usual limit.
    this.cloud = new EmulatedCloud(provider, folder, {
      requestsMax: { hour: 1_000_000, minute: 1_000_000 },
    });
  }

  get options(): ConformanceOptions {
    const { cloud } = this;
    return {
      driver: () => this.#driver(),
      parameters: cloud.parameters,
      node: here,
      // Half of it, which some mutants make, is a size that every provider has.
      sizeBytes: 20n * 1024n ** 3n,
      otherNode: elsewhere,
      unknownNode: 'nowhere',
      inventory: () => cloud.emulator.inventory(),
      invalidParameters: [{ fsType: 'btrfs' }],
      callTimeoutMs: 10_000,
      cancelTimeoutMs: 2_000,
    };
  }

  /** Returns the cloud's driver with its waits on the injected clock. */
  async #driver(): Promise<Driver> {
    const { cloud } = this;
    const links = this.#links;
    const driver = await cloud.driver();
    const whole =
      <Q extends { readonly signal: AbortSignal }, R>(call: (request: Q) => Promise<R>) =>
      (request: Q): Promise<R> =>
        cloud.over(() => call(request), request.signal);
    return {
      ...driver,
      provision: whole((request) => driver.provision(request)),
      observe: whole((request) => driver.observe(request)),
      delete: whole((request) => driver.delete(request)),
      attach: async (request) => {
        const attached = await cloud.over(() => driver.attach(request), request.signal);
        links.set(request.handle, basename(attached.devicePath));
        return { devicePath: '' };
      },
      detach: whole((request) => driver.detach(request)),
      mount: ({ handle }) => {
        const link = links.get(handle) ?? '';
        if (cloud.disks.linked(here, link) !== undefined)
          return Promise.resolve({ path: cloud.disks.contentAt(here, link) });
        return Promise.reject(new DriverError('Unavailable', `${handle} is not attached`));
      },
      unmount: () => Promise.resolve(),
      expand: whole((request) => driver.expand(request)),
      createSnapshot: whole((request) => driver.createSnapshot(request)),
      observeSnapshot: whole((request) => driver.observeSnapshot(request)),
      deleteSnapshot: whole((request) => driver.deleteSnapshot(request)),
      restore: whole((request) => driver.restore(request)),
    };
  }
}
