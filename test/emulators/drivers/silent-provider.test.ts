import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { eventually } from 'kedge/testing';
import { TestDaemon } from '../../acceptance/daemon.js';
import { type RunningEmulator, startEmulator } from '../index.js';
import { places } from '../sweep/emulated-cloud.js';
import { tokenOf } from './served-cloud.js';
import { SilentEndpoint, silentOnes } from './silent-endpoint.js';
import { half } from '../../fixtures/seed.js';

const base = '/v1/namespaces/default';
const token = 'a-token';
const requestMs = 8_000;
/** More than a class has workers. */
const silentCount = 20;
const healthyCount = 10;

const healthyOf = (provider: string): 'cloud1' | 'cloud2' =>
  provider === 'cloud2' ? 'cloud1' : 'cloud2';

for (const provider of half('providers that do not answer', [
  'cloud1',
  'cloud2',
  'cloud3',
  'cloud4',
] as const))
  describe(`a provider that does not answer, of ${silentOnes[provider].driver}`, function () {
    this.timeout(180_000);
    const {
      driver: silentDriver,
      parameters: silentParameters,
      says,
      calls = 16,
    } = silentOnes[provider];
    const healthy = healthyOf(provider);
    let folder: string;
    let cloud: RunningEmulator;
    let daemon: TestDaemon;
    const silent = new SilentEndpoint();

    before(async () => {
      folder = await mkdtemp(join(tmpdir(), 'kedge-silent-'));
      cloud = await startEmulator({
        provider: healthy,
        actionMs: 10,
        tokens: [tokenOf(healthy, 'test', token)],
      });
      const config = join(folder, 'kedged.toml');
      await writeFile(
        config,
        `[drivers.${silentDriver}]
endpoint = "${await silent.listen()}"
[drivers.${silentDriver}.timeouts]
requestMs = ${requestMs}
[drivers.${healthy}-volume]
endpoint = "${cloud.endpoint}"
`,
      );
      daemon = await TestDaemon.start({ arguments: ['--config', config] });
      const region = places[healthy];
      for (const [name, driver, parameters] of [
        ['silent', silentDriver, silentParameters],
        ['healthy', `${healthy}-volume`, { region, apiToken: token }],
      ] as const)
        await daemon.ok('POST', '/v1/storageclasses', { name, driver, parameters });
    });
    after(async () => {
      // Ends the calls: a graceful stop waits for them.
      silent.close();
      await daemon?.dispose();
      await cloud?.close();
      await rm(folder, { recursive: true, force: true });
    });

    const create = async (storageClassName: string, name: string, count: number): Promise<void> => {
      await Promise.all(
        Array.from({ length: count }, (_, n) =>
          daemon.ok('POST', `${base}/volumes`, {
            name: `${name}-${n}`,
            storageClassName,
            size: '1Gi',
            accessMode: 'ReadWriteOnce',
          }),
        ),
      );
    };
    /** Creates volumes of the healthy class; returns the milliseconds until all are Available. */
    const provision = async (name: string): Promise<number> => {
      const began = performance.now();
      await create('healthy', name, healthyCount);
      await eventually(`the volumes ${name}`, async () => {
        const all = await daemon.list(`${base}/volumes`);
        const made = all.filter((one) => String(one.name).startsWith(name));
        return made.filter(({ status }) => status === 'Available').length === healthyCount;
      });
      return performance.now() - began;
    };

    it('delays no volume of another class, ends each call at its deadline, and its volumes report it', async () => {
      const alone = await provision('alone');
      await create('silent', 'silent', silentCount);
      await eventually('calls that wait', () => silent.sockets.size >= calls);
      const beside = await provision('beside');
      const { ended } = silent;
      console.log(
        `      ${healthyCount} volumes Available after ${Math.round(alone)} ms alone, ${Math.round(beside)} ms beside ${silentCount} of a provider that does not answer`,
      );
      expect(ended, 'calls of the silent provider that ended meanwhile').to.equal(0);
      await eventually(
        'the report of each volume',
        async () => {
          const all = await daemon.list(`${base}/volumes`);
          const unanswered = all.filter((one) =>
            new RegExp(`${says} did not answer \\w+ in ${requestMs} ms`).test(
              JSON.stringify(one.lastOperation ?? ''),
            ),
          );
          return unanswered.length === silentCount;
        },
        6 * requestMs,
      );
    });
  });
