import { join } from 'node:path';
import { expect } from 'chai';
import { eventually } from 'kedge/testing';
import { requireEngine } from '../../containers/engine.js';
import { requireDevices } from '../../drivers/devices.js';
import { CloudMachine, providers, secrets, sizes } from './cloud-machine.js';
import { growsExt4Online } from './ext4-growth.js';
import { WrittenVolume } from './written-volume.js';
import { driverNames } from '../sweep/emulated-cloud.js';
import { seed } from '../../fixtures/seed.js';

const base = '/v1/namespaces/default';
const gib = 2 ** 30;

const all = providers.flatMap((provider) =>
  (['ext4', 'xfs'] as const).map((fsType) => ({ provider, fsType })),
);
const whole = process.env['KEDGE_CLOUD_LIFE'] === 'all';
const chosen = all.filter((_, index) => whole || index === seed % all.length);

for (const { provider, fsType } of chosen)
  describe(`a container writes through a volume of ${driverNames[provider]} with ${fsType} at every step of its life, ${chosen.length} of ${all.length} combinations, seed ${seed}`, function () {
    this.timeout(600_000);
    let machine: CloudMachine;
    let data: WrittenVolume;
    let restored: WrittenVolume | undefined;
    let emptyInventory: readonly string[];
    const [size, grown] = sizes[provider];

    before(async function () {
      requireEngine(this);
      requireDevices(this);
      machine = await CloudMachine.start(provider, fsType, size);
      emptyInventory = await machine.cloud.running.inventory();
      data = new WrittenVolume(machine.daemon, machine.engine, 'data');
    });
    after(() => machine?.stop());

    const isPending = ({ conditions }: Record<string, unknown>): boolean =>
      (conditions as { readonly type: string; readonly status: string }[]).some(
        ({ type, status }) => type === 'FileSystemResizePending' && status === 'True',
      );

    it('provision, attach, mount', async () => {
      await machine.create('data');
      await data.until('Available', ({ status }) => status === 'Available');
      expect(await machine.attached()).to.deep.equal([]);
      await data.use();
      expect(await machine.attached()).to.have.length(1);
      data.write('mounted');
    });

    it('snapshot and restore: the restored volume has what was written before, and nothing of later; cloud2 refuses a snapshot', async () => {
      data.write('before the snapshot');
      const answer = await machine.daemon.rest('POST', `${base}/snapshots`, {
        ...{ name: 'snap', source: { volume: 'data' } },
      });
      if (provider === 'cloud2') {
        expect(answer.status).to.equal(400);
        expect(JSON.stringify(answer.body)).to.contain('snapshots');
        return;
      }
      expect(answer.status, JSON.stringify(answer.body)).to.equal(200);
      const snapshot = async () => {
        const { body } = await machine.daemon.rest('GET', `${base}/snapshots/snap`);
        return body['status'] === 'Ready';
      };
      await eventually('the snapshot', snapshot, 120_000);
      restored = data.copy('restored');
      data.write('after the snapshot');
      await machine.create('restored', { size: `${grown}Gi`, source: { snapshot: 'snap' } });
      await restored.until('Available', ({ status }) => status === 'Available');
      await restored.use();
      restored.verify();
      expect(restored.sizeOfFileSystem()).to.be.above((size + 0.5) * gib);
      restored.write('restored');
      data.write('after the restore');
    });

    const grow = () =>
      machine.daemon.rest('POST', `${base}/volumes/data:resize`, { size: `${grown}Gi` });
    const isGrown = ({ sizeBytes }: Record<string, unknown>): boolean =>
      sizeBytes === String(grown * gib);

    it('growth: online where provider and kernel permit it, else after a detach or at the next mount', async () => {
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
        const isOnline = fsType === 'xfs' || growsExt4Online(join(machine.folder, 'probe'));
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
      await machine.daemon.end('SIGKILL');
      data.write('while no daemon runs');
      await machine.daemon.run();
      const instance = await data.running();
      expect(data.container).to.equal(container);
      expect(instance['restartCount']).to.equal(0);
      expect(await machine.attached()).to.have.length(restored ? 2 : 1);
      data.write('after the restart');
    });

    it('detach and attach again on the same node', async () => {
      data.write('before the detach');
      await data.leave();
      expect(await machine.attached()).to.have.length(restored ? 1 : 0);
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
        await machine.remove(`/volumes/${volume.name}`);
      }
      if (restored) await machine.remove('/snapshots/snap');
      expect(await machine.cloud.running.inventory()).to.deep.equal(emptyInventory);
      expect(machine.cloud.running.emulator.violations).to.deep.equal([]);
      for (const secret of secrets) expect(machine.daemon.log).not.to.contain(secret);
    });
  });
