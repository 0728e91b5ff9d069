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

    /** Waits until the instance that waits for the volume reports some words. */
    const described = async (words: string): Promise<void> => {
      let seen = '';
      await eventually(
        `the instance to report ${words}`,
        async () => (seen = JSON.stringify(await data.instance())).includes(words),
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

    it('that leads to the device of another volume: nothing is mounted twice or formatted, and it starts once it is right', async () => {
      // A handle of cloud4 ends with the name of the disk, those of others are ids.
      const name =
        String((await other.volume())['handle'])
          .split('/')
          .at(-1) ?? '';
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
