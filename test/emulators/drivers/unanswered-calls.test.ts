import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { pauseOn } from '@kedge/driver-sdk/provider';
import type { WireRequest } from '../core/wire.js';
import { driverNames, EmulatedCloud, here } from '../sweep/emulated-cloud.js';
import { CalledDriver, refusalOf } from './called-driver.js';

const uid = '0e2c4f9a-7a39-4d1e-9b4b-3f1d2c5e6a70';
const actionMs = 20_000;

type Asked = Pick<WireRequest, 'method' | 'path' | 'body'>;

/** Whether a request starts to attach or to detach a volume. */
function starts(change: 'attach' | 'detach', { method, path, body }: Asked): boolean {
  const asked = `${path} ${body}`;
  return method === 'POST' && (change === 'attach' ? /attach(?<!detach)/i : /detach/i).test(asked);
}
const isDetach = (request: Asked): boolean => starts('detach', request);

for (const provider of ['cloud1', 'cloud2', 'cloud3', 'cloud4'] as const)
  describe(`an attach and a detach of ${driverNames[provider]}`, () => {
    let folder: string;
    let cloud: EmulatedCloud;
    let one: CalledDriver;
    before(async function () {
      this.timeout(120_000);
      folder = await mkdtemp(join(tmpdir(), 'kedge-unanswered-'));
      const loading = new EmulatedCloud(provider, folder);
      await loading.loadSdk();
      await loading.emulator.close();
    });
    beforeEach(async () => {
      cloud = new EmulatedCloud(provider, await mkdtemp(join(folder, 'disks-')), { actionMs });
      one = new CalledDriver(cloud, await cloud.driver(), uid);
      await one.provision();
      await one.attach();
    });
    afterEach(async () => {
      expect(cloud.emulator.violations).to.deep.equal([]);
      await cloud.emulator.close();
    });
    after(() => rm(folder, { recursive: true, force: true }));

    const attached = async (): Promise<readonly string[]> =>
      (await cloud.emulator.inventory()).filter((line) => line.startsWith('attached '));
    const pass = (ms: number): Promise<void> =>
      cloud.clock.during(() => pauseOn(cloud.clock, ms, new AbortController().signal));

    it('begin one after the other if the answer of the attach was lost, so that the volume stays detached', async () => {
      await one.detach();
      cloud.emulator.faults.add({
        on: (request) => starts('attach', request),
        fault: { type: 'lostReply' },
      });
      expect((await refusalOf(one.attach())).kind).to.equal('Timeout');
      const again = new CalledDriver(cloud, await cloud.driver(), uid);
      Object.assign(again, { operations: one.operations, handle: one.handle });
      await again.detach();
      await pass(2 * actionMs);
      expect(await attached()).to.deep.equal([]);
    });

    it('begin one after the other if the answer of the detach was lost, so that the volume stays attached', async () => {
      cloud.emulator.faults.add({ on: isDetach, fault: { type: 'lostReply' } });
      expect((await refusalOf(one.detach())).kind).to.equal('Timeout');
      // As after a restart of the node: another instance of the driver.
      const again = new CalledDriver(cloud, await cloud.driver(), uid);
      Object.assign(again, { operations: one.operations, handle: one.handle });
      await again.attach(here, again.parameters, { target: '/data/mounts/v' });
      await pass(2 * actionMs);
      expect(await attached()).to.have.length(1);
    });
  });

describe('an attach of cloud2-volume after a detach of a device that did not appear', () => {
  it('waits for its end, also if the device appears meanwhile', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'kedge-unseen-'));
    const cloud = new EmulatedCloud('cloud2', folder, { actionMs });
    try {
      const one = new CalledDriver(cloud, await cloud.driver(), uid);
      await one.provision();
      cloud.disks.areSeen = false;
      expect((await refusalOf(one.attach())).message).to.contain(
        'it is detached and attached again',
      );
      cloud.disks.areSeen = true;
      await one.attach();
      await cloud.clock.during(() =>
        pauseOn(cloud.clock, 2 * actionMs, new AbortController().signal),
      );
      const inventory = await cloud.emulator.inventory();
      expect(inventory.filter((line) => line.startsWith('attached '))).to.have.length(1);
    } finally {
      await cloud.emulator.close();
      await rm(folder, { recursive: true });
    }
  });

  it('uses the device that appears after the provider refused the detach', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'kedge-unseen-'));
    const cloud = new EmulatedCloud('cloud2', folder, { actionMs });
    try {
      const one = new CalledDriver(cloud, await cloud.driver(), uid);
      await one.provision();
      cloud.disks.areSeen = false;
      const body = '{"error":{"code":"token_readonly","message":"the token is read-only"}}';
      cloud.emulator.faults.add({ on: isDetach, fault: { type: 'answer', status: 403, body } });
      expect((await refusalOf(one.attach())).message).to.contain('read-only');
      expect(await one.operations.get('detach')).to.equal(undefined);
      cloud.disks.areSeen = true;
      await one.attach();
      expect(cloud.emulator.requests.filter((request) => isDetach(request))).to.have.length(1);
    } finally {
      await cloud.emulator.close();
      await rm(folder, { recursive: true });
    }
  });

  it('is not repeated at once after an attempt that failed long ago', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'kedge-unseen-'));
    const cloud = new EmulatedCloud('cloud2', folder, { actionMs });
    try {
      const one = new CalledDriver(cloud, await cloud.driver(), uid);
      await one.provision();
      const { signal } = new AbortController();
      // The first call is pending, and its claim releases the volume.
      await cloud.clock.during(() => one.driver.attach(one.request()));
      await one.detach();
      await cloud.clock.during(() => pauseOn(cloud.clock, 600_000, signal));
      cloud.disks.areSeen = false;
      cloud.clock.setTimer(() => (cloud.disks.areSeen = true), actionMs + 20_000);
      await one.attach();
      const detaches = cloud.emulator.requests.filter((request) => isDetach(request));
      expect(detaches).to.have.length(1);
    } finally {
      await cloud.emulator.close();
      await rm(folder, { recursive: true });
    }
  });
});
