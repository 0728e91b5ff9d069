import { mkdtemp, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { eventually } from 'kedge/testing';
import { TestDaemon } from '../../acceptance/daemon.js';
import { RealEngine, requireEngine } from '../../containers/engine.js';
import { cleanUp, requireDevices } from '../../drivers/devices.js';
import { ServedCloud } from '../drivers/served-cloud.js';
import { places } from '../sweep/emulated-cloud.js';
import { growsExt4Online } from './ext4-growth.js';
import { WrittenVolume } from './written-volume.js';

const base = '/v1/namespaces/default';
const token = 'dop_v1_token-of-the-life-of-a-volume';
const node = 'life';
const gib = 2 ** 30;
/** Sizes before and after growth, GiB. */
const sizes = { cloud1: [1, 2], cloud2: [10, 12] } as const;

const all = (['cloud1', 'cloud2'] as const).flatMap((provider) =>
  (['ext4', 'xfs'] as const).map((fsType) => ({ provider, fsType })),
);
const seed = Number(process.env['KEDGE_SEED'] ?? Date.now() % 100_000);
const whole = process.env['KEDGE_CLOUD_LIFE'] === 'all';
const chosen = all.filter((_, index) => whole || index === seed % all.length);

for (const { provider, fsType } of chosen)
  describe(`a container writes through a volume of ${provider}-volume with ${fsType} at every step of its life, ${chosen.length} of ${all.length} combinations, seed ${seed}`, function () {
    this.timeout(600_000);
    let engine: RealEngine;
    let daemon: TestDaemon;
    let cloud: ServedCloud;
    let folder: string;
    let data: WrittenVolume;
    let restored: WrittenVolume | undefined;
    let emptyInventory: readonly string[];
    const [size, grown] = sizes[provider];

    before(async function () {
      requireEngine(this);
      requireDevices(this);
      engine = await RealEngine.start();
      folder = await mkdtemp(join(tmpdir(), 'kedge-life-'));
      cloud = await ServedCloud.start(provider, { folder, node, token });
      emptyInventory = await cloud.running.inventory();
      const config = join(folder, 'kedged.toml');
      const { endpoint, deviceDirectory } = cloud.settings;
      await writeFile(
        config,
        `[node]
name = "${node}"
labels = { "svc.io/region" = "${places[provider]}" }
[drivers.${cloud.driverName}]
endpoint = "${endpoint}"
deviceDirectory = "${deviceDirectory}"
`,
      );
      daemon = await TestDaemon.start({
        arguments: ['--config', config],
        environment: { KEDGE_RUNTIME_DOCKER_SOCKET: engine.socketPath },
      });
      await daemon.ok('POST', `${base}/secrets`, { name: 'cloud', data: { token } });
      await daemon.ok('POST', '/v1/storageclasses', {
        ...{ name: 'c', driver: cloud.driverName, reclaimPolicy: 'delete' },
        parameters: {
          ...{ fsType, region: places[provider] },
          apiToken: 'secret:cloud.default.svc/token',
        },
      });
      data = new WrittenVolume(daemon, engine, 'data');
    });
    after(async () => {
      await daemon?.end('SIGTERM');
      await cloud?.close();
      if (daemon) await cleanUp(daemon.home);
      if (folder) await cleanUp(folder);
      await daemon?.dispose();
      await engine?.stop();
    });

    const created = async (name: string, more: object = {}): Promise<void> => {
      const form = { name, storageClassName: 'c', size: `${size}Gi`, accessMode: 'ReadWriteOnce' };
      await daemon.ok('POST', `${base}/volumes`, { ...form, ...more });
    };
    const attached = async (): Promise<readonly string[]> =>
      (await cloud.running.inventory()).filter((line) => line.startsWith('attached '));
    const removed = async (path: string): Promise<void> => {
      await daemon.ok('DELETE', path);
      const gone = async () => (await daemon.rest('GET', path)).status === 404;
      await eventually(`${path} to be gone`, gone, 120_000);
    };
    const isPending = ({ conditions }: Record<string, unknown>): boolean =>
      (conditions as { readonly type: string; readonly status: string }[]).some(
        ({ type, status }) => type === 'FileSystemResizePending' && status === 'True',
      );

    it('provision, attach, mount', async () => {
      await created('data');
      await data.until('Available', ({ status }) => status === 'Available');
      expect(await attached()).to.deep.equal([]);
      await data.use();
      expect(await attached()).to.have.length(1);
      data.write('mounted');
    });

    it('snapshot and restore: the restored volume has what was written before, and nothing of later', async () => {
      data.write('before the snapshot');
      const answer = await daemon.rest('POST', `${base}/snapshots`, {
        ...{ name: 'snap', source: { volume: 'data' } },
      });
      if (provider === 'cloud2') {
        expect(answer.status).to.equal(400);
        expect(JSON.stringify(answer.body)).to.contain('snapshots');
        return;
      }
      expect(answer.status, JSON.stringify(answer.body)).to.equal(200);
      const snapshot = async () => {
        const { body } = await daemon.rest('GET', `${base}/snapshots/snap`);
        return body['status'] === 'Ready';
      };
      await eventually('the snapshot', snapshot, 120_000);
      restored = data.copy('restored');
      data.write('after the snapshot');
      await created('restored', { size: `${grown}Gi`, source: { snapshot: 'snap' } });
      await restored.until('Available', ({ status }) => status === 'Available');
      await restored.use();
      restored.verify();
      expect(restored.sizeOfFileSystem()).to.be.above((size + 0.5) * gib);
      restored.write('restored');
      data.write('after the restore');
    });

    const grow = () => daemon.rest('POST', `${base}/volumes/data:resize`, { size: `${grown}Gi` });
    const isGrown = ({ sizeBytes }: Record<string, unknown>): boolean =>
      sizeBytes === String(grown * gib);

    it('growth: online where provider and kernel permit it, else told and done at the next mount', async () => {
      data.write('before the growth');
      const answer = await grow();
      if (provider === 'cloud2') {
        expect(answer.status).to.equal(412);
        expect(answer.body['message']).to.contain("can't grow a volume while it is bound");
        await data.leave();
        expect((await grow()).status).to.equal(200);
        await data.until('grown', isGrown);
        await data.use();
      } else {
        const isOnline = fsType === 'xfs' || growsExt4Online(join(folder, 'probe'));
        console.log(`      ${fsType} ${isOnline ? 'grows online' : 'waits for the next mount'}`);
        await data.until(
          isOnline ? 'grown' : 'grown, with a file system that waits',
          (volume) => isGrown(volume) && isPending(volume) === !isOnline,
        );
        expect(data.sizeOfFileSystem() > (grown - 0.5) * gib).to.equal(isOnline);
        data.write('after the growth of the disk');
        if (!isOnline) {
          expect(isPending(await data.volume())).to.equal(true);
          await data.leave();
          await data.use();
        }
      }
      await data.until('without a growth that waits', (volume) => !isPending(volume));
      expect(data.sizeOfFileSystem()).to.be.above((grown - 0.5) * gib);
      data.write('after the growth');
    });

    it('kill -9 of kedged: the container writes on, and is adopted', async () => {
      const { container } = data;
      data.write('before the kill');
      await daemon.end('SIGKILL');
      data.write('while no daemon runs');
      await daemon.run();
      const instance = await data.running();
      expect(data.container).to.equal(container);
      expect(instance['restartCount']).to.equal(0);
      expect(await attached()).to.have.length(restored ? 2 : 1);
      data.write('after the restart');
    });

    it('detach and attach again on the same node', async () => {
      data.write('before the detach');
      await data.leave();
      expect(await attached()).to.have.length(restored ? 1 : 0);
      await data.use();
      data.write('attached again');
    });

    it('delete: the provider has what it had before, and every request was as defined', async () => {
      const writes = data.writes + (restored?.writes ?? 0);
      console.log(`      ${writes} writes, each read back with all before it`);
      for (const volume of [data, restored]) {
        if (!volume) continue;
        volume.verify();
        await volume.leave();
        await removed(`${base}/volumes/${volume.name}`);
      }
      if (restored) await removed(`${base}/snapshots/snap`);
      expect(await cloud.running.inventory()).to.deep.equal(emptyInventory);
      expect(cloud.running.emulator.violations).to.deep.equal([]);
      expect(daemon.log).not.to.contain(token);
    });
  });
