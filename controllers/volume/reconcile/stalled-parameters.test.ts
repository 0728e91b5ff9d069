import { expect } from 'chai';
import { modify } from 'kedge';
import { settle } from 'kedge/testing';
import { StorageWorld } from '../../testing/storage-world.js';
import { storageClasses } from '../../storage-class/kind.js';
import { volumes } from '../kind.js';

const key = { namespace: 'default', name: 'v' };

/** As a volume in creation that is restored from a backup, whose provider no longer accepts its parameters. */
describe('a Stalled volume without a handle whose parameters the provider refuses', () => {
  let world: StorageWorld;
  beforeEach(async () => {
    world = await StorageWorld.start();
    await setType('first');
    world.driver.failsOn = { provision: 'Timeout', observe: 'InvalidParameters' };
    await world.createVolume();
    expect(await world.volume()).to.include({ status: 'Stalled' });
    world.driver.failsOn = {
      ...{ provision: 'InvalidParameters', observe: 'InvalidParameters' },
      ...{ delete: 'InvalidParameters', restore: 'InvalidParameters' },
    };
    await world.restart();
    await world.clock.advance(600_000);
  });
  afterEach(() => world.stop());

  const setType = async (type: string): Promise<void> => {
    const of = { parameters: { type } };
    await modify(world.store, storageClasses, { name: 'c' }, (found) => ({ ...found, ...of }));
    await settle();
  };

  it('stays as it is, and is observed at long intervals, while the parameters are the same', async () => {
    expect(await world.volume()).to.include({ status: 'Stalled' });
    const before = world.driver.calls.length;
    await world.clock.advance(600_000);
    expect(world.driver.calls.length - before).to.be.within(1, 12);
    expect(world.driver.calls.filter((call) => call === 'provision')).to.have.length(1);
  });

  it('is provisioned with the changed parameters of its class', async () => {
    world.driver.failsOn = { observe: 'InvalidParameters', delete: 'InvalidParameters' };
    await setType('second');
    await world.clock.advance(60_000);
    expect(await world.volume()).to.include({ status: 'Available' });
    expect((await world.volume())?.driverParameters).to.deep.equal({ type: 'second' });
  });

  it('is provisioned once for parameters that differ at each reading, and then stays as it is', async () => {
    let reads = 0;
    world.driver.configured = () => ({ endpoint: `e${++reads}` });
    world.driver.failsOn = { provision: 'Timeout', observe: 'InvalidParameters' };
    const before = world.driver.calls.filter((call) => call === 'provision').length;
    await world.clock.advance(600_000);
    expect(await world.volume()).to.include({ status: 'Stalled' });
    const provisions = (): number =>
      world.driver.calls.filter((call) => call === 'provision').length - before;
    expect(provisions()).to.equal(1);
    await setType('second');
    await world.clock.advance(600_000);
    expect(provisions()).to.equal(2);
    world.driver.failsOn = {};
    await world.clock.advance(600_000);
    expect(await world.volume()).to.include({ status: 'Available' });
  });

  it('is provisioned with them also if its status was written at the same time', async () => {
    world.driver.failsOn = { observe: 'InvalidParameters', delete: 'InvalidParameters' };
    let conflicts = 0;
    world.driver.onCall = async (call) => {
      if (call !== 'observe' || conflicts > 0) return;
      conflicts += 1;
      await world.store.updateStatus(volumes, key, { missingSince: '' });
    };
    await setType('second');
    await world.clock.advance(600_000);
    expect(conflicts).to.equal(1);
    expect(await world.volume()).to.include({ status: 'Available' });
  });

  it('is deleted on request, once its driver confirms that the resource does not exist', async () => {
    await world.deleteVolume();
    await world.clock.advance(60_000);
    expect(await world.volume()).to.include({ status: 'Failed' });
    world.driver.failsOn = { provision: 'InvalidParameters', observe: 'InvalidParameters' };
    await world.clock.advance(600_000);
    expect(await world.volume()).to.equal(undefined);
  });

  it('waits while the secret of its credential is missing, since its provider was not called', async () => {
    await world.store.updateStatus(volumes, key, {
      driverParameters: { type: 'first', token: 'secret:absent/key' },
    });
    await world.deleteVolume();
    await world.clock.advance(600_000);
    expect(await world.volume()).to.include({ status: 'Stalled' });
  });

  it('is neither provisioned again nor deleted if it has a handle, since its provider has it', async () => {
    await world.store.updateStatus(volumes, key, { handle: 'h' });
    const before = world.driver.calls.length;
    await setType('second');
    await world.clock.advance(600_000);
    await world.deleteVolume();
    await world.clock.advance(600_000);
    expect(await world.volume()).to.include({ status: 'Stalled', handle: 'h' });
    expect(new Set(world.driver.calls.slice(before))).to.deep.equal(new Set(['observe']));
  });
});
