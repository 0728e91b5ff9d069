import { expect } from 'chai';
import { requireEngine } from '../../containers/engine.js';
import { requireDevices } from '../../drivers/devices.js';
import { eightFaults } from '../core/faults.js';
import { actionOf, type WireRequest } from '../core/wire.js';
import type { ProviderName } from '../index.js';
import { CloudMachine, providers, secrets, sizes } from './cloud-machine.js';
import { WrittenVolume } from './written-volume.js';
import { driverNames } from '../sweep/emulated-cloud.js';
import { seed } from '../../fixtures/seed.js';

const whole = process.env['KEDGE_CLOUD_LIFE'] === 'all';
const faults = Object.entries(eightFaults);
const all = providers.flatMap((provider) =>
  (['attach', 'detach'] as const).flatMap((action) =>
    faults.map(([name, fault]) => ({ provider, action, name, fault })),
  ),
);
const chosen = all.filter((_, index) => whole || index === seed % all.length);
/** Time after which the provider ends an action that does not end, milliseconds. */
const stuckMs = 5_000;

/** Whether a request starts to attach or to detach a volume. */
function changes(
  provider: ProviderName,
  action: 'attach' | 'detach',
  request: WireRequest,
): boolean {
  const { method, path, body } = request;
  switch (provider) {
    case 'cloud1':
      return method === 'POST' && path.endsWith('/actions') && body.includes(`"${action}"`);
    case 'cloud2':
      return method === 'POST' && path.endsWith(`/actions/${action}`);
    case 'cloud3':
      return actionOf(request) === (action === 'attach' ? 'AttachVolume' : 'DetachVolume');
    case 'cloud4':
      return method === 'POST' && path.endsWith(`/${action}Disk`);
  }
}

for (const provider of providers) {
  const cases = chosen.filter((one) => one.provider === provider);
  if (cases.length === 0) continue;
  describe(`attach and detach of ${driverNames[provider]} that fail once under a container, ${chosen.length} of ${all.length} cases, seed ${seed}`, function () {
    this.timeout(300_000);
    let machine: CloudMachine;
    let data: WrittenVolume;
    before(async function () {
      requireEngine(this);
      requireDevices(this);
      const fsType = seed % 2 === 0 ? 'ext4' : 'xfs';
      machine = await CloudMachine.start(provider, fsType, sizes[provider][0]);
      data = new WrittenVolume(machine.daemon, machine.engine, 'data');
      await machine.create('data');
      await data.use();
      data.write('before all faults');
      await data.leave();
    });
    after(() => machine?.stop());

    for (const { action, name, fault } of cases)
      it(`${action}, ${name}: converges with the data, attached once and detached`, async () => {
        const { emulator } = machine.cloud.running;
        emulator.faults.add({
          fault,
          on: (request) => changes(provider, action, request),
        });
        const helper = setInterval(() => {
          const now = emulator.clock.now();
          for (const { id, status, startedAt } of emulator.actions)
            if (status === 'running' && now - startedAt > stuckMs) void emulator.finishActions(id);
        }, 500);
        try {
          await data.use();
          expect(await machine.attached()).to.have.length(1);
          data.write(`${action} ${name}`);
          await data.leave();
        } finally {
          clearInterval(helper);
        }
        expect(emulator.faults.left, 'the fault came').to.equal(0);
        emulator.faults.clear();
        expect(await machine.attached()).to.deep.equal([]);
      });

    it('leaves nothing behind', async () => {
      await data.use();
      data.verify();
      await data.leave();
      await machine.remove('/volumes/data');
      expect(await machine.cloud.running.inventory()).to.deep.equal([]);
      expect(machine.cloud.running.emulator.violations).to.deep.equal([]);
      for (const secret of secrets) expect(machine.daemon.log).not.to.contain(secret);
    });
  });
}
