import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { expect } from 'chai';
import { type Driver, DriverError } from '@kedge/driver-sdk';
import { type ConformanceOptions, driverConformance } from '@kedge/driver-sdk/conformance';
import { unspecifiedCalls } from '../schema/specified-calls.js';
import { elsewhere, EmulatedCloud, here } from './emulated-cloud.js';

/**
 * Returns the cloud's driver with its waits on the injected clock. Its volumes are mounted without a device: attach
 * returns an empty path, and mount returns the directory of the attached disk.
 */
async function onClock(cloud: EmulatedCloud, links: Map<string, string>): Promise<Driver> {
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

for (const provider of ['cloud1', 'cloud2'] as const)
  describe(`${provider}-volume passes the conformance suite with the emulator on an injected clock`, () => {
    let folder: string;
    let cloud: EmulatedCloud;
    /** Links of attached disks by the handle of the volume. */
    const links = new Map<string, string>();
    let emptyInventory: readonly string[];
    const leftOut: string[] = [];
    before(async () => {
      folder = await mkdtemp(join(tmpdir(), 'kedge-emulated-'));
      // The instances of the driver in the suite do not share their budgets, so together they exceed the usual limit.
      cloud = new EmulatedCloud(provider, folder, {
        requestsMax: { hour: 100_000, minute: 100_000 },
      });
      emptyInventory = await cloud.emulator.inventory();
    });
    after(async () => {
      for (const line of leftOut) console.log(`      left out: ${line}`);
      await cloud.emulator.close();
      await rm(folder, { recursive: true, force: true });
    });
    const options: ConformanceOptions = {
      driver: () => onClock(cloud, links),
      get parameters() {
        return cloud.parameters;
      },
      node: here,
      sizeBytes: 10n * 1024n ** 3n,
      otherNode: elsewhere,
      unknownNode: 'nowhere',
      inventory: () => cloud.emulator.inventory(),
      invalidParameters: [{ fsType: 'btrfs' }],
      callTimeoutMs: 10_000,
      cancelTimeoutMs: 2_000,
    };
    for (const { name, behaviour, run } of driverConformance(options))
      it(`${name}: ${behaviour}`, async () => {
        const outcome = await run();
        if (outcome.type === 'leftOut') leftOut.push(`${name}: ${outcome.reason}`);
      });

    it('leaves nothing behind, and no request differs from the definition or is unspecified', async () => {
      expect(await cloud.emulator.inventory()).to.deep.equal(emptyInventory);
      expect(cloud.emulator.violations).to.deep.equal([]);
      expect(unspecifiedCalls(provider, cloud.emulator.requests)).to.deep.equal([]);
      const { length } = cloud.emulator.requests;
      console.log(`      ${length} requests`);
      expect(length).to.be.above(100);
    });
  });
