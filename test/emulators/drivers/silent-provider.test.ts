import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer, type Server, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { eventually } from 'kedge/testing';
import { TestDaemon } from '../../acceptance/daemon.js';
import { emulatedProject, testAccount } from '../cloud4/test-account.js';
import { type ProviderName, type RunningEmulator, startEmulator } from '../index.js';
import { places } from '../sweep/emulated-cloud.js';
import { tokenOf } from './served-cloud.js';

const base = '/v1/namespaces/default';
const token = 'a-token';
const requestMs = 12_000;
/** More than a class has workers. */
const silentCount = 20;
const healthyCount = 10;

/** An endpoint that accepts connections and answers nothing. */
class SilentEndpoint {
  readonly sockets = new Set<Socket>();
  ended = 0;
  readonly #server: Server = createServer((socket) => {
    this.sockets.add(socket);
    socket.on('error', () => undefined);
    socket.on('data', () => undefined);
    socket.on('close', () => {
      this.sockets.delete(socket);
      this.ended += 1;
    });
  });

  async listen(): Promise<string> {
    await new Promise<void>((resolve) => {
      this.#server.listen(0, '127.0.0.1', resolve);
    });
    const address = this.#server.address();
    return `http://127.0.0.1:${typeof address === 'object' ? address?.port : 0}`;
  }

  close(): void {
    for (const socket of this.sockets) socket.destroy();
    this.#server.close();
  }
}

interface Silent {
  readonly driver: string;
  readonly parameters: Readonly<Record<string, string>>;
  /** The provider's name in errors. */
  readonly says: string;
  /** Number of calls that wait at once, default 16: cloud3-block joins the reads of many volumes to one call. */
  readonly calls?: number;
}

const { credentialsJSON } = testAccount('silent');
const healthyOf = (provider: string): 'cloud1' | 'cloud2' =>
  provider === 'cloud2' ? 'cloud1' : 'cloud2';
const silentOnes: Readonly<Record<ProviderName, Silent>> = {
  cloud1: {
    ...{ driver: 'cloud1-volume', says: 'DigitalOcean' },
    parameters: { region: places.cloud1, apiToken: token },
  },
  cloud2: {
    ...{ driver: 'cloud2-volume', says: 'Hetzner Cloud' },
    parameters: { region: places.cloud2, apiToken: token },
  },
  cloud3: {
    ...{ driver: 'cloud3-block', says: 'Amazon EBS', calls: 1 },
    parameters: {
      ...{ region: 'eu-central-1', availabilityZone: places.cloud3 },
      ...{ accessKeyId: 'AKIASILENT', secretAccessKey: token },
    },
  },
  cloud4: {
    ...{ driver: 'cloud4-disk', says: 'Google Cloud' },
    parameters: { zone: places.cloud4, project: emulatedProject, credentialsJSON },
  },
};

for (const provider of ['cloud1', 'cloud2', 'cloud3', 'cloud4'] as const)
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
      await daemon?.dispose();
      await cloud?.close();
      silent.close();
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
          const told = all.filter((one) =>
            new RegExp(`${says} did not answer \\w+ in ${requestMs} ms`).test(
              JSON.stringify(one.lastOperation ?? ''),
            ),
          );
          return told.length === silentCount;
        },
        6 * requestMs,
      );
    });
  });
