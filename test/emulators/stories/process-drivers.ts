import { basename } from 'node:path';
import { type Driver, DriverError, type DriverRegistry } from '@kedge/driver-sdk';
import type { Transport } from '@kedge/driver-sdk/provider';
import { builtinDrivers } from '@kedge/drivers';
import type { FakeClock } from 'kedge/testing';
import type { nodeNames } from '../../never-stuck/world.js';
import { hostSeeing } from '../sweep/emulated-cloud.js';
import type { SeenDisks } from './seen-disks.js';

/** A process of a world: the control plane, or a node. */
export type Part = 'control' | (typeof nodeNames)[number];

/** Options that the drivers of a world have in common. */
export interface ProcessDriversOptions {
  readonly driverName: string;
  readonly clusterId: string;
  readonly clock: FakeClock;
  readonly disks: SeenDisks;
  readonly transport: Transport;
  /** `apiTokenSecretRef` of the nodes' configuration. */
  readonly nodeToken: string | undefined;
}

/** The drivers of each process of a world, of which one is the provider's. */
export class ProcessDrivers {
  readonly #options: ProcessDriversOptions;
  readonly #created = new Map<Part, Driver>();

  constructor(options: ProcessDriversOptions) {
    this.#options = options;
  }

  /** The provider's driver of a process that has used it. */
  get(part: Part): Driver | undefined {
    return this.#created.get(part);
  }

  readonly registry = (part: Part): DriverRegistry => {
    const { driverName, clusterId, clock, disks, transport, nodeToken } = this.#options;
    const drivers = builtinDrivers({
      localVolumeRoot: '/nowhere',
      hostPathAllowlist: [],
      allowCreateMissing: false,
      node: part,
      clusterId,
      host: hostSeeing((link) => disks.linked(part, link)),
      drivers: {
        [driverName]: {
          deviceDirectory: '/double/links',
          ...(nodeToken === undefined ? {} : { apiTokenSecretRef: nodeToken }),
        },
      },
      providers: { clock, transport },
    });
    const get = async (name: string): Promise<Driver | undefined> => {
      const driver = await drivers.get(name);
      if (driver && name === driverName) this.#created.set(part, driver);
      return driver && withoutMounts(driver, (link) => disks.linked(part, link) !== undefined);
    };
    return { ...drivers, get };
  };
}

/** The driver without programs: a volume is mounted while the node sees its disk. */
function withoutMounts(driver: Driver, isSeen: (link: string) => boolean): Driver {
  return {
    ...driver,
    // Block devices need root, which this process may not be.
    capabilities: () => ({ ...driver.capabilities(), blockDevice: false }),
    mount: ({ devicePath, target, handle }) =>
      isSeen(basename(devicePath))
        ? Promise.resolve({ path: target, formatted: true })
        : Promise.reject(new DriverError('Unavailable', `${handle} is not attached`)),
    unmount: () => Promise.resolve(),
  };
}
