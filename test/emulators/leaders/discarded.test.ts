import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { type CallContext, type Driver, DriverError, memoryOperations } from '@kedge/driver-sdk';
import { pauseOn, type Transport } from '@kedge/driver-sdk/provider';
import { EmulatedCloud, here, transportTo } from '../sweep/emulated-cloud.js';
import { ProcessClock } from './leader.js';

const uid = '0e2c4f9a-7a39-4d1e-9b4b-3f1d2c5e6a70';
const copyUid = '1e2c4f9a-7a39-4d1e-9b4b-3f1d2c5e6a71';

/**
 * The requests at which the process is paused: after a GET, which precedes the record of the deletion, or before a
 * DELETE.
 */
const moments = {
  'before the record of the deletion': 'GET',
  'between the record and the deletion': 'DELETE',
} as const;

const cases = (['disk', 'snapshot'] as const).flatMap((what) =>
  Object.entries(moments).map((moment) => [what, moment] as const),
);

describe('cloud4-disk: a process that no longer leads and has found a disk or snapshot whose creation failed', function () {
  this.timeout(120_000);
  let folder: string;
  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'kedge-discarded-'));
    const first = new EmulatedCloud('cloud4', folder);
    await first.loadSdk();
    await first.emulator.close();
  });
  after(() => rm(folder, { recursive: true, force: true }));

  for (const [what, [moment, held]] of cases)
    it(`does not delete the ${what} of its successor if it was paused ${moment}`, async () => {
      const cloud = new EmulatedCloud('cloud4', await mkdtemp(join(folder, 'disks-')));
      const operations = memoryOperations();
      const clocks = {
        first: new ProcessClock(cloud.clock),
        second: new ProcessClock(cloud.clock),
      };
      type Name = keyof typeof clocks;
      /** Whether the provider reports the disk or snapshot as failed, until it is deleted. */
      let hasFailed = false;
      let leader: Name = 'first';
      let takeOver = (): Promise<void> => Promise.resolve();

      const requestsOf =
        (name: Name): Transport =>
        async (request) => {
          const { method, url } = request;
          const isOne = url.pathname.endsWith(`/${what}s/kedge-${what === 'disk' ? uid : copyUid}`);
          const isHeld = hasFailed && isOne && name === 'first' && method === held;
          if (isHeld && method === 'DELETE') await takeOver();
          if (isOne && method === 'DELETE') hasFailed = false;
          const answer = await transportTo(cloud.emulator)(request);
          const isShown = hasFailed && isOne && method === 'GET';
          const text = isShown
            ? answer.text.replace(/"(READY|UPLOADING|CREATING)"/, '"FAILED"')
            : answer.text;
          if (isHeld && method === 'GET') await takeOver();
          return { ...answer, text };
        };
      const contextOf = (name: Name): CallContext => ({
        volume: { uid, namespace: 'shop', name: 'v' },
        parameters: cloud.parameters,
        ...{ node: here, signal: new AbortController().signal },
        operations: {
          get: (kind) => operations.get(kind),
          clear: (kind) => operations.clear(kind),
          set: (kind, id) =>
            name === leader
              ? operations.set(kind, id)
              : Promise.reject(new DriverError('Internal', 'another process leads')),
        },
      });
      const driverOf = (name: Name): Promise<Driver> =>
        cloud.driver(requestsOf(name), { clock: clocks[name] });
      const drivers = { first: await driverOf('first'), second: await driverOf('second') };
      /** Like the controller of volumes: a deletion that is open is completed first. */
      const provision = async (name: Name): Promise<unknown> => {
        const context = contextOf(name);
        const driver = drivers[name];
        if ((await operations.get('delete')) !== undefined)
          await cloud.over(() => driver.delete({ ...context, handle: undefined }));
        const wanted = { sizeBytes: 1n, accessMode: 'ReadWriteOnce', topology: {} } as const;
        return cloud.over(() => driver.provision({ ...context, ...wanted }));
      };
      const existing = async (): Promise<readonly string[]> =>
        (await cloud.emulator.inventory()).filter((line) =>
          line.startsWith(what === 'disk' ? 'volume ' : 'snapshot '),
        );

      const pause = (): Promise<unknown> =>
        cloud.clock.during(() => pauseOn(cloud.clock, 60_000, new AbortController().signal));
      let handle = '';
      const copy = (name: Name): Promise<unknown> => {
        const snapshot = { uid: copyUid, namespace: 'shop', name: 'copy' };
        const request = { ...contextOf(name), snapshot, handle };
        return cloud.over(() => drivers[name].createSnapshot(request));
      };
      const make = what === 'disk' ? provision : copy;
      if (what === 'snapshot') {
        ({ handle } = (await provision('first')) as { handle: string });
        await pause();
      }
      const on = (request: { method: string; path: string }): boolean =>
        request.method === 'POST' &&
        request.path.endsWith(what === 'disk' ? '/disks' : '/snapshots');
      cloud.emulator.faults.add({ on, fault: { type: 'afterSuccess' } });
      await make('first').catch(() => undefined);
      expect(await existing()).to.have.length(1);
      await pause();
      hasFailed = true;
      takeOver = async () => {
        takeOver = () => Promise.resolve();
        leader = 'second';
        clocks.first.pause();
        for (let tries = 0; tries < 3; tries += 1) {
          const made = await make('second').catch(() => undefined);
          if (made) break;
        }
        expect(await existing()).to.have.length(1);
        clocks.first.resume();
      };
      await make('first').catch(() => undefined);
      expect(leader).to.equal('second');
      await pause();
      expect(await existing()).to.have.length(1);
      expect(cloud.emulator.violations).to.deep.equal([]);
      await cloud.emulator.close();
    });
});
