import { expect } from 'chai';
import { StorageWorld } from '../../testing/storage-world.js';
import { volumes } from '../kind.js';

const hourMs = 60 * 60_000;

describe('a volume that was manually set to Failed', () => {
  let world: StorageWorld;
  beforeEach(async () => {
    world = await StorageWorld.start();
    await world.createVolume();
    await world.store.updateStatus(
      volumes,
      { namespace: 'default', name: 'v' },
      { status: 'Failed' },
    );
  });
  afterEach(() => world.stop());

  const calls = (name: string): number => world.driver.calls.filter((call) => call === name).length;

  it('V27: is Available again when its driver reports it, and is probed periodically until then', async () => {
    world.driver.failsOn = { observe: 'NotFound' };
    await world.clock.advance(2 * hourMs);
    expect(await world.volume()).to.include({ status: 'Failed' });
    expect(calls('observe')).to.be.within(1, 20);
    world.driver.failsOn = {};
    await world.clock.advance(hourMs);
    expect(await world.volume()).to.include({ status: 'Available', reason: 'Found', handle: 'h' });
    expect(calls('provision')).to.equal(1);
  });

  it('V27: is probed by a daemon that starts later', async () => {
    world.driver.failsOn = { observe: 'NotFound' };
    await world.restart();
    expect(await world.volume()).to.include({ status: 'Failed' });
    world.driver.failsOn = {};
    await world.restart();
    expect(await world.volume()).to.include({ status: 'Available', reason: 'Found', handle: 'h' });
    expect(calls('provision')).to.equal(1);
  });
});
