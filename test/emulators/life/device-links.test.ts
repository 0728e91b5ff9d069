import { spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { readdir, readFile, readlink, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { readMountTable } from '@kedge/driver-sdk';
import { expect } from 'chai';
import { eventually } from 'kedge/testing';
import { requireEngine } from '../../containers/engine.js';
import { requireDevices } from '../../drivers/devices.js';
import { CloudMachine, providers, sizes } from './cloud-machine.js';
import { WrittenVolume } from './written-volume.js';
import { driverNames } from '../sweep/emulated-cloud.js';
import { seed } from '../../fixtures/seed.js';

const whole = process.env['KEDGE_CLOUD_LIFE'] === 'all';
const chosen = providers.filter((_, index) => whole || index === seed % providers.length);
const deviceMs = 2_000;

for (const provider of chosen)
  describe(`the link of a device of ${driverNames[provider]}, seed ${seed}`, function () {
    this.timeout(600_000);
    let machine: CloudMachine;
    let data: WrittenVolume;
    let other: WrittenVolume;
    before(async function () {
      requireEngine(this);
      requireDevices(this);
      machine = await CloudMachine.start(provider, 'xfs', sizes[provider][0], { deviceMs });
      const volumeOf = (name: string) => new WrittenVolume(machine.daemon, machine.engine, name);
      [data, other] = [volumeOf('data'), volumeOf('other')];
      for (const volume of [data, other]) {
        await machine.create(volume.name);
        await volume.use();
        volume.write('before all links');
      }
      await data.leave();
    });
    after(() => machine?.stop());

    /** Waits until the instance that waits for a volume reports some words. */
    const described = async (words: string, of = data): Promise<void> => {
      let seen = '';
      await eventually(
        `the instance to report ${words}`,
        async () => (seen = JSON.stringify(await of.instance())).includes(words),
        120_000,
      ).catch((cause: unknown) => {
        throw new Error(`${String(cause)}: ${seen}`, { cause });
      });
    };
    const heal = async (): Promise<void> => {
      machine.cloud.devices.setLinks({ type: 'prompt' });
      await machine.cloud.devices.heal();
    };
    const goesOn = async (step: string): Promise<void> => {
      await data.running();
      data.write(step);
      other.verify();
      await data.leave();
    };

    /** The part of the handle that identifies the disk: of cloud4 its name, of others its id. */
    const diskOf = async (volume: WrittenVolume): Promise<string> =>
      String((await volume.volume())['handle'])
        .split('/')
        .at(-1) ?? '';

    it('that is late: the instance starts once it is there', async () => {
      machine.cloud.devices.setLinks({ type: 'late', ms: deviceMs / 2 });
      await data.begin();
      await goesOn('late');
    });

    it('that never appears: the instance reports it, and a repeated call finds it once it is there', async () => {
      machine.cloud.devices.setLinks({ type: 'never' });
      await data.begin();
      await described('did not appear');
      const why = await machine.daemon.cli('why', 'volume/data');
      expect(why.stdout).to.contain('did not appear');
      await heal();
      await goesOn('never');
    });

    it('that leads to a blank disk that belongs to no volume: a new volume does not format it, and starts once it is right', async () => {
      const fresh = new WrittenVolume(machine.daemon, machine.engine, 'fresh');
      machine.cloud.devices.setLinks({ type: 'wrong' });
      await machine.create(fresh.name);
      await fresh.begin();
      await described('is another disk, to which the link of the volume leads', fresh);
      await heal();
      await fresh.running();
      fresh.write('after the blank disk');
      await fresh.leave();
    });

    it('that leads to a foreign file system that is not mounted: neither a new volume nor a used one mounts or checks it', async () => {
      const digest = async (): Promise<string> =>
        createHash('sha256')
          .update(await readFile(machine.cloud.devices.decoy('ext4')))
          .digest('hex');
      const fresh = new WrittenVolume(machine.daemon, machine.engine, 'fresh-beside-ext4');
      machine.cloud.devices.setLinks({ type: 'wrong', content: 'ext4' });
      await machine.create(fresh.name);
      await fresh.begin();
      await described('is another disk, to which the link of the volume leads', fresh);
      const untouched = await digest();
      await data.begin();
      await described('is another disk, to which the link of the volume leads');
      expect(await digest()).to.equal(untouched);
      await heal();
      await fresh.running();
      fresh.write('after the foreign file system');
      await fresh.leave();
      await goesOn('foreign');
      expect(await digest()).to.equal(untouched);
    });

    it('that is lost while another mount namespace has the volume mounted: it stays attached until that ends', async () => {
      await data.use();
      data.write('before the loss');
      const holder = spawn(
        'unshare',
        ['--mount', '--propagation', 'private', 'sh', '-c', 'echo on; read end'],
        { stdio: ['pipe', 'pipe', 'inherit'] },
      );
      await once(holder.stdout, 'data');
      const { deviceDirectory } = machine.cloud;
      const mounted = (await readMountTable())
        .filter(({ target }) => target.startsWith(`${machine.daemon.data}/mounts/`))
        .map(({ source }) => source);
      for (const name of await readdir(deviceDirectory)) {
        const link = join(deviceDirectory, name);
        const isOfOther = name.includes(await diskOf(other));
        if (mounted.includes(await readlink(link)) && !isOfOther) await rm(link);
      }
      const left = data.leave();
      await described(`held by pid ${holder.pid}`);
      expect(await machine.attached()).to.have.length(2);
      holder.stdin.end('\n');
      await left;
      await heal();
      await data.begin();
      await goesOn('lost');
    });

    it('that is lost while the volume is mounted, and its container ends: it stays attached, and starts again once the link is back', async () => {
      await data.use();
      data.write('before its container ends');
      const uid = String(((await data.volume())['metadata'] as { uid: string }).uid);
      const mounted = async () =>
        (await readMountTable()).find(({ target }) => target.endsWith(`/mounts/${uid}`));
      const device = (await mounted())?.source;
      const { deviceDirectory } = machine.cloud;
      for (const name of await readdir(deviceDirectory))
        if ((await readlink(join(deviceDirectory, name))) === device)
          await rm(join(deviceDirectory, name));
      const begun = machine.cloud.running.requests.length;
      machine.engine.docker('kill', data.container);
      await described(provider === 'cloud2' ? 'so that it stays attached' : 'did not appear');
      expect((await mounted())?.source).to.equal(device);
      const changes = machine.cloud.running.requests
        .slice(begun)
        .filter(({ path, body }) => /detach/i.test(`${path} ${body}`));
      expect(changes).to.deep.equal([]);
      await heal();
      await goesOn('lost by a container that ended');
    });

    it('that leads to the device of another volume: nothing is mounted twice or formatted, and it starts once it is right', async () => {
      const name = await diskOf(other);
      const lines = (await machine.cloud.running.inventory()).map((line) => line.split(' '));
      const [, id = ''] = lines.find((line) => line[0] === 'volume' && line.includes(name)) ?? [];
      machine.cloud.devices.setLinks({ type: 'wrong', of: id });
      await data.begin();
      await described('for another volume');
      other.verify();
      await heal();
      await goesOn('wrong');
    });
  });
