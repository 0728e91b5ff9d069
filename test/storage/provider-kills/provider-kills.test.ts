import { mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect } from 'chai';
import { runCommand } from '@kedge/driver-sdk';
import { seededRandom } from 'kedge';
import { eventually } from 'kedge/testing';
import { TestDaemon } from '../../acceptance/daemon.js';
import { cleanUp, requireDevices } from '../../drivers/devices.js';
import { ProviderProcess } from '../../drivers/provider/process.js';
import { describeCase, type KillCase, killCases } from './kill-cases.js';
import { Scene } from './scene.js';
import { seed } from '../../fixtures/seed.js';

const all = killCases(seededRandom(seed));
const count = process.env.KEDGE_PROVIDER_KILLS ?? '6';
const sampled = count === 'all' ? all : all.slice(0, Number(count));
const program = fileURLToPath(new URL('kedged-of-cloud.js', import.meta.url));

describe(`a daemon that is killed while a provider works for it, ${sampled.length} of ${all.length} kills, seed ${seed}`, function () {
  this.timeout(600_000);
  let folder: string;
  let provider: ProviderProcess;
  let daemon: TestDaemon;

  const start = async (): Promise<void> => {
    folder = await mkdtemp(join(tmpdir(), 'kedge-cloud-'));
    provider = await ProviderProcess.start(folder, { here: 'i-1' });
    daemon = await TestDaemon.start({ program, arguments: ['--provider', folder] });
    await Scene.prepare(daemon);
  };
  const stop = async (): Promise<void> => {
    await provider.disarm();
    await daemon.dispose();
    await provider.end();
    await cleanUp(folder);
  };

  before(async function () {
    requireDevices(this);
    await start();
  });
  // The faults of a failed case do not affect the next one.
  afterEach(async function () {
    if (this.currentTest?.state !== 'failed') return;
    await stop();
    await start();
  });
  after(() => stop());

  const meanwhile = async ({ then }: KillCase['moment']): Promise<void> => {
    switch (then) {
      case 'it ends meanwhile':
        return provider.endAll('ended');
      case 'it fails meanwhile':
        return provider.endAll('failed');
      case 'it is forgotten at its end':
        await provider.endAll('ended');
        return provider.forget();
      case 'it is forgotten and ends later':
        return provider.forget();
      case 'it ends later':
      case 'it fails later':
      case 'the request is lost':
      case 'nothing more happens':
    }
  };
  const later = async ({ then }: KillCase['moment']): Promise<void> => {
    if (then === 'it fails later') await provider.endAll('failed');
    if (then === 'it ends later' || then === 'it is forgotten and ends later')
      await provider.endAll('ended');
  };

  sampled.forEach((one, index) => {
    const { kind, moment } = one;
    it(`one resource per uid, and none in the end: ${describeCase(one)}`, async () => {
      const scene = new Scene(daemon, provider, `v${index}`);
      await provider.pace({ type: 'after', ms: 5 });
      await scene.before(kind);
      const isOver = moment.point === 'read' || moment.point === 'answered';
      if (!isOver) await provider.pace({ type: 'onCommand' });
      const rule = await provider.arm({ point: moment.point, kind, action: { type: 'hold' } });
      await scene.ask(kind);
      await rule.reached();
      await daemon.end('SIGKILL');
      const isLost = moment.then === 'the request is lost';
      await rule.release(isLost ? 'discard' : 'goOn');
      if (moment.point === 'arrived' && !isLost)
        await eventually('the order to be accepted', async () => {
          const { operations } = await provider.state();
          return Object.values(operations).some(({ state }) => state === 'running');
        });
      await meanwhile(moment);
      await provider.pace({ type: 'after', ms: 5 });
      await daemon.run();
      await later(moment);
      await scene.after();
      const { stdout } = await runCommand('losetup', ['-l'], new AbortController().signal);
      expect(stdout).to.not.contain(folder);
    });
  });
});
