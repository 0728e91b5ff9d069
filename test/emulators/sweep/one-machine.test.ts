import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { CalledDriver } from '../drivers/called-driver.js';
import { EmulatedCloud, here } from './emulated-cloud.js';

describe('volumes of one machine', () => {
  let folder: string;
  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'kedge-machine-'));
  });
  after(() => rm(folder, { recursive: true, force: true }));

  for (const provider of ['cloud1', 'cloud2'] as const)
    it(`are attached to a ${provider} machine one after the other, each as soon as the last one has ended`, async () => {
      const disks = await mkdtemp(join(folder, 'disks-'));
      const cloud = new EmulatedCloud(provider, disks, { actionMs: 3_000 });
      const driver = await cloud.driver();
      const volumes = ['a', 'b', 'c', 'd'].map((uid) => new CalledDriver(cloud, driver, uid));
      const asked = { sizeBytes: 1n, accessMode: 'ReadWriteOnce', topology: {} } as const;
      await Promise.all(
        volumes.map(async (one) => {
          const made = await cloud.over(() => driver.provision({ ...one.request(), ...asked }));
          one.handle = made.handle;
        }),
      );
      const made = volumes.map(({ uid }) => driver.recentCalls?.(uid).length ?? 0);
      const began = cloud.clock.now();
      await Promise.all(volumes.map((one) => cloud.over(() => driver.attach(one.request(here)))));
      const tookMs = cloud.clock.now() - began;
      const attached = (await cloud.emulator.inventory()).filter((one) =>
        one.startsWith('attached'),
      );
      expect(attached).to.have.length(4);
      // No second action was sent while one ran: none was refused.
      const actions = cloud.emulator.requests.filter(
        ({ method, path }) => method === 'POST' && path.includes('/actions'),
      );
      expect(actions).to.have.length(4);
      expect(tookMs).to.be.within(12_000, 30_000);
      // Volumes that wait for their turn make no requests meanwhile, and a running action is polled once a second at most.
      const calls = volumes.map(({ uid }) => driver.recentCalls?.(uid) ?? []);
      const ofAttach = calls.map((all, n) => all.slice(made[n]));
      console.log(`      ${ofAttach.map((all) => all.length).join(', ')} requests to attach them`);
      expect(Math.max(...ofAttach.map((all) => all.length))).to.be.at.most(7);
      for (const all of calls) {
        const polls = all.filter(({ path }) => /^\/v\d\/actions\//.test(path)).map(({ at }) => at);
        polls.slice(1).forEach((at, n) => expect(at - polls[n]!).to.be.at.least(1_000));
      }
      await cloud.emulator.close();
    });
});
