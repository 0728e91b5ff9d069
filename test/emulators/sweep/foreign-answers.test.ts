import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import type { Driver } from '@kedge/driver-sdk';
import { actionOf, type WireRequest } from '../core/wire.js';
import { CalledDriver, refusalOf } from '../drivers/called-driver.js';
import { driverNames, EmulatedCloud } from './emulated-cloud.js';

const isDeletion = (request: WireRequest): boolean =>
  request.method === 'DELETE' || actionOf(request)?.startsWith('Delete') === true;

for (const provider of ['cloud1', 'cloud2', 'cloud3', 'cloud4'] as const)
  describe(`the answer of a proxy in place of the provider of ${driverNames[provider]}`, () => {
    let folder: string;
    let cloud: EmulatedCloud;
    let driver: Driver;
    before(async () => {
      folder = await mkdtemp(join(tmpdir(), 'kedge-proxy-'));
      cloud = new EmulatedCloud(provider, folder, { actionMs: 0 });
      await cloud.loadSdk();
      driver = await cloud.driver();
    });
    after(async () => {
      await cloud.emulator.close();
      await rm(folder, { recursive: true, force: true });
    });

    const existing = async (): Promise<readonly string[]> =>
      (await cloud.emulator.inventory()).filter((line) => line.startsWith('volume '));

    for (const [of, on] of [
      ['every request', () => true],
      ['the deletion', isDeletion],
    ] as const)
      for (const body of ['<html>not here</html>', '{"message":"no route"}'])
        for (const status of [404, 410])
          it(`does not mean that the volume is gone: ${status} ${body} to ${of}`, async () => {
            const one = new CalledDriver(
              cloud,
              driver,
              `uid-${status}-${body.length}-${of.length}`,
            );
            await one.provision();
            const { faults } = cloud.emulator;
            faults.add({ on, times: 99, fault: { type: 'answer', status, body } });
            const { kind, message } = await refusalOf(one.delete());
            expect(kind, message).to.equal('Unavailable');
            if (on !== isDeletion)
              expect(await refusalOf(Promise.resolve(driver.observe(one.request())))).to.include({
                kind: 'Unavailable',
              });
            faults.clear();
            expect(await existing()).to.have.length(1);
            await one.delete();
            expect(await existing()).to.deep.equal([]);
          });
  });
