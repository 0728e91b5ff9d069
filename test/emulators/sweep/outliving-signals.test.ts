import { getEventListeners, setMaxListeners } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { memoryOperations } from '@kedge/driver-sdk';
import { driverNames, EmulatedCloud, here } from './emulated-cloud.js';

const volumes = 12;

for (const provider of ['cloud1', 'cloud2', 'cloud3', 'cloud4'] as const)
  describe(`a signal that outlives calls of ${driverNames[provider]}`, function () {
    this.timeout(120_000);
    let folder: string;
    let cloud: EmulatedCloud;
    before(async () => {
      folder = await mkdtemp(join(tmpdir(), 'kedge-signals-'));
      cloud = new EmulatedCloud(provider, folder);
      await cloud.loadSdk();
    });
    after(async () => {
      await cloud.emulator.close();
      await rm(folder, { recursive: true, force: true });
    });

    it(`has no listener of any of them after the lives of ${volumes} volumes at once`, async () => {
      const driver = await cloud.driver();
      const { signal } = new AbortController();
      setMaxListeners(0, signal);
      let most = 0;
      const whole = <T>(call: () => Promise<T>) =>
        cloud.over(async () => {
          const answer = call();
          most = Math.max(most, getEventListeners(signal, 'abort').length);
          return answer;
        }, new AbortController().signal);
      await Promise.all(
        Array.from({ length: volumes }, async (_, n) => {
          const uid = `signal-${n}`;
          const context = {
            ...{ volume: { uid, name: uid, namespace: 'shop' }, parameters: cloud.parameters },
            ...{ node: here, signal, operations: memoryOperations() },
          };
          const asked = { sizeBytes: 1n, accessMode: 'ReadWriteOnce', topology: {} } as const;
          const { handle } = await whole(() => driver.provision({ ...context, ...asked }));
          const request = { ...context, handle };
          await whole(() => driver.attach(request));
          await whole(() => driver.observe(request));
          await whole(() => driver.detach(request));
          await whole(() => driver.delete(request));
        }),
      );
      expect(most, 'at once').to.be.above(0);
      expect(getEventListeners(signal, 'abort')).to.deep.equal([]);
      expect(await cloud.emulator.inventory()).to.deep.equal([]);
    });
  });
