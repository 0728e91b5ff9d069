import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { inspect } from 'node:util';
import { expect } from 'chai';
import { CalledDriver } from '../drivers/called-driver.js';
import { EmulatedCloud, here, testToken } from './emulated-cloud.js';

/** Every status with a row in the drivers' error tables, except 429, for which the call waits instead of failing. */
const statuses = [400, 401, 403, 404, 409, 422, 423, 500, 503];

for (const provider of ['cloud1', 'cloud2'] as const)
  describe(`${provider}-volume discloses no token`, () => {
    let folder: string;
    before(async () => {
      folder = await mkdtemp(join(tmpdir(), 'kedge-tokens-'));
    });
    after(() => rm(folder, { recursive: true, force: true }));

    it('that a provider repeats in its refusals: not in errors, the journal of calls and the driver itself', async () => {
      const cloud = new EmulatedCloud(provider, folder);
      const { emulator } = cloud;
      const driver = await cloud.driver();
      const message = `the token ${testToken} is not welcome`;
      const body = JSON.stringify({ id: 'refused', message, error: { code: 'refused', message } });
      const texts: string[] = [];
      const one = new CalledDriver(cloud, driver, `tokens-${provider}`);
      const asked = { sizeBytes: 1n, accessMode: 'ReadWriteOnce', topology: {} } as const;
      const provision = () => driver.provision({ ...one.request(), ...asked });
      one.handle = (await cloud.over(provision)).handle;
      const calls = [
        () => driver.observe(one.request()),
        () => driver.attach(one.request(here)),
        () => driver.expand({ ...one.request(), sizeBytes: 1024n ** 4n }),
        () => driver.delete(one.request()),
      ];
      for (const status of statuses)
        for (const call of calls) {
          emulator.faults.clear();
          emulator.faults.add({ on: () => true, fault: { type: 'answer', status, body } });
          await cloud
            .over<unknown>(call)
            .catch((error: unknown) => texts.push(inspect(error, { depth: 8, showHidden: true })));
          texts.push(inspect(driver.recentCalls?.(one.uid), { depth: 8 }));
          emulator.faults.clear();
          one.handle = (await cloud.over(provision)).handle;
        }
      texts.push(inspect(driver, { depth: 9, showHidden: true }));
      const all = texts.join('\n');
      expect(all).to.contain('is not welcome');
      expect(all).not.to.contain(testToken);
      await emulator.close();
    });
  });
