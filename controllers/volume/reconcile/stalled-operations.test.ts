import { expect } from 'chai';
import { settle } from 'kedge/testing';
import type { Operations } from '@kedge/driver-sdk';
import { operationsOf } from '../../provisioned/operations.js';
import { StorageWorld } from '../../testing/storage-world.js';
import { type Volume, volumes } from '../kind.js';

const key = { namespace: 'default', name: 'v' };

/** As in a restored backup: the operations are those of a time before the resource of the name was created. */
describe('a Stalled volume with the record of an earlier deletion', () => {
  let world: StorageWorld;
  beforeEach(async () => {
    world = await StorageWorld.start();
    world.driver.failsOn = { provision: 'Timeout', observe: 'Unavailable' };
    await world.createVolume();
    await operations().then((all) => all.set('delete', 'earlier'));
    world.driver.calls.length = 0;
  });
  afterEach(() => world.stop());

  const volume = async (): Promise<Volume> => (await world.volume()) ?? expect.fail('it is gone');
  const operations = async (): Promise<Operations> => {
    const ports = { store: world.store, clock: world.clock, controller: 'volume' };
    return operationsOf(ports, volumes, await volume());
  };

  it('is provisioned again without that deletion if its provider does not have it', async () => {
    world.driver.failsOn = { observe: 'NotFound' };
    await world.clock.advance(60_000);
    expect(await volume()).to.include({ status: 'Available' });
    expect(world.driver.calls).to.include('provision').and.not.include('delete');
  });

  it('has no operation any more once its provider shows it', async () => {
    world.driver.failsOn = {};
    await world.clock.advance(60_000);
    expect(await volume()).to.include({ status: 'Available' });
    expect(await (await operations()).get('delete')).to.equal(undefined);
  });

  it('keeps data under retain if it may have been used, and its driver can not observe it', async () => {
    await world.store.update(volumes, { ...(await volume()), reclaimPolicy: 'retain' });
    await world.store.updateStatus(volumes, key, { neverUsed: false });
    world.driver.failsOn = { observe: 'Unsupported' };
    await world.deleteVolume();
    await world.clock.advance(60_000);
    await settle();
    expect(await world.volume()).to.equal(undefined);
    expect(world.driver.calls).to.not.include('delete');
    expect(world.driver.made.size).to.equal(1);
  });
});
