import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { eventually } from 'kedge/testing';
import { TestDaemon } from '../../acceptance/daemon.js';
import { credentialKeys, labelsOf, parametersOf, tokenOf } from '../drivers/served-cloud.js';
import { type ProviderName, type RunningEmulator, startEmulator } from '../index.js';
import { seed } from '../../fixtures/seed.js';
import { driverNames, rateStatus } from '../sweep/emulated-cloud.js';

type Json = Readonly<Record<string, unknown>>;

const whole = process.env['KEDGE_CLOUD_CLUSTERS'] === 'all';
const providers = ['cloud1', 'cloud2', 'cloud3', 'cloud4'] as const;
const chosen = providers.filter((_, n) => whole || n === seed % providers.length);
/** Volumes of each daemon. With all of them the daemons wait for the provider's rate limit together. */
const count = whole ? 100 : 15;
const waitMs = whole ? 20 * 60_000 : 120_000;
const base = '/v1/namespaces/default';
const token = 'dop_v1_token-of-two-clusters';

async function startDaemon(
  provider: ProviderName,
  { endpoint }: RunningEmulator,
  { folder, node }: { readonly folder: string; readonly node: string },
): Promise<TestDaemon> {
  const driver = driverNames[provider];
  const labels = Object.entries(labelsOf(provider)).map(([key, value]) => `"${key}" = "${value}"`);
  const config = join(folder, `${node}.toml`);
  await writeFile(
    config,
    `[node]
name = "${node}"
labels = { ${labels.join(', ')} }
[drivers.${driver}]
endpoint = "${endpoint}"
`,
  );
  const daemon = await TestDaemon.start({ arguments: ['--config', config] });
  const parameters = parametersOf(provider, token);
  const key = credentialKeys[provider];
  await daemon.ok('POST', `${base}/secrets`, { name: 'cloud', data: { token: parameters[key] } });
  await daemon.ok('POST', '/v1/storageclasses', {
    ...{ name: 'c', driver, reclaimPolicy: 'delete' },
    parameters: { ...parameters, [key]: 'secret:cloud.default.svc/token' },
  });
  return daemon;
}

const volumesOf = (daemon: TestDaemon): Promise<readonly Json[]> =>
  daemon.list(`${base}/volumes?limit=500`);

for (const provider of chosen)
  describe(`two kedged with one credential of ${driverNames[provider]}, each with ${count} volumes, seed ${seed}`, function () {
    this.timeout(4 * waitMs);
    let folder: string;
    let cloud: RunningEmulator;
    let first: TestDaemon;
    let second: TestDaemon;
    before(async () => {
      folder = await mkdtemp(join(tmpdir(), 'kedge-two-daemons-'));
      cloud = await startEmulator({
        ...{ provider, actionMs: 100, volumesMax: 2 * count, perPage: 1_000 },
        tokens: [tokenOf(provider, 'test', token)],
      });
      first = await startDaemon(provider, cloud, { folder, node: 'first' });
      second = await startDaemon(provider, cloud, { folder, node: 'second' });
    });
    after(async () => {
      await first?.dispose();
      await second?.dispose();
      await cloud?.close();
      await rm(folder, { recursive: true, force: true });
    });

    const existing = async (): Promise<readonly string[]> =>
      (await cloud.inventory()).filter((line) => line.startsWith('volume '));
    /** The volume of a handle in the inventory: a handle of cloud4 ends with its name, others are its id. */
    const lineOf = (lines: readonly string[], { handle }: Json): string => {
      const id = String(handle).split('/').at(-1) ?? '';
      return lines.find((line) => line.split(' ').includes(id)) ?? `none of ${id}`;
    };
    const create = async (daemon: TestDaemon): Promise<void> => {
      const form = { storageClassName: 'c', size: '10Gi', accessMode: 'ReadWriteOnce' };
      for (let n = 0; n < count; n += 1)
        await daemon.ok('POST', `${base}/volumes`, { name: `v${n}`, ...form });
    };
    const available = (daemon: TestDaemon): Promise<readonly Json[]> =>
      eventually(
        `${count} volumes`,
        async () => {
          const found = await volumesOf(daemon);
          return found.every(({ status }) => status === 'Available') && found;
        },
        waitMs,
      );
    /** Deletes all volumes of a daemon. */
    const empty = async (daemon: TestDaemon): Promise<void> => {
      for (let n = 0; n < count; n += 1) await daemon.ok('DELETE', `${base}/volumes/v${n}`);
      const gone = async () => (await volumesOf(daemon)).length === 0;
      await eventually('no volume', gone, waitMs);
    };
    const orphans = async (daemon: TestDaemon, query = ''): Promise<readonly Json[]> => {
      const { orphans = [] } = await daemon.ok('GET', `/v1/admin/orphans?${query}`);
      return orphans as readonly Json[];
    };
    const report = (what: string, began: number, earlier: number): void => {
      const made = cloud.requests.slice(earlier);
      const refused = made.filter(({ status }) => status === rateStatus[provider]).length;
      const tookS = Math.round((performance.now() - began) / 1_000);
      console.log(`      ${what}: ${made.length} requests, ${refused} refused, ${tookS} s`);
    };

    it('have volumes of their own, though the objects have the same names, and one of them is killed meanwhile', async () => {
      const began = performance.now();
      await Promise.all([create(first), create(second)]);
      await eventually('the first ones', async () => (await existing()).length > count / 2, waitMs);
      await second.crash();
      const all = (await Promise.all([available(first), available(second)])).flat();
      report('created', began, 0);
      expect(all.filter(({ attempts }) => attempts !== 0)).to.deep.equal([]);
      const lines = await existing();
      expect(lines).to.have.length(2 * count);
      expect(all.map((volume) => lineOf(lines, volume))).to.have.members([...lines]);
    });

    it('neither lists those of the other as its own orphans', async () => {
      expect(await orphans(first)).to.deep.equal([]);
      expect(await orphans(second)).to.deep.equal([]);
      const foreign = await orphans(first, 'all=true');
      expect(foreign.map(({ origin }) => origin)).to.deep.equal(
        Array.from({ length: count }, () => 'foreign'),
      );
    });

    it('one deletes its own, and the other keeps all of its own', async () => {
      const before = await volumesOf(second);
      const lines = await existing();
      const began = performance.now();
      const earlier = cloud.requests.length;
      await empty(first);
      report('deleted', began, earlier);
      expect(await existing()).to.have.members(before.map((volume) => lineOf(lines, volume)));
      const after = await volumesOf(second);
      expect(after.filter(({ status }) => status !== 'Available')).to.deep.equal([]);
    });

    it('leave nothing behind once the other has deleted its own, too', async () => {
      await empty(second);
      expect(await cloud.inventory()).to.deep.equal([]);
      expect(cloud.emulator.violations).to.deep.equal([]);
      for (const daemon of [first, second]) expect(daemon.log).not.to.contain(token);
    });
  });
