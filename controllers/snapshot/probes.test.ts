import { expect } from 'chai';
import { settle } from 'kedge/testing';
import { StorageWorld } from '../testing/storage-world.js';
import { snapshots } from './kind.js';

const key = { namespace: 'default', name: 's' };
const hourMs = 3_600_000;

describe('the probes of a snapshot', () => {
  it('are background calls, which are repeated when the budget permits it', async () => {
    const world = await StorageWorld.start();
    await world.createVolume();
    await world.store.create(snapshots, { ...key, source: { volume: 'v' } });
    await settle();
    world.driver.failsOn = { observeSnapshot: 'Throttled' };
    world.driver.retryAfterMs = 40_000;
    const probes = (): number =>
      world.driver.calls.filter((call) => call === 'observeSnapshot').length;
    while (probes() === 0) await world.clock.advance(10_000);
    world.driver.failsOn = {};
    await world.clock.advance(60_000);
    expect(probes()).to.equal(2);
    await world.clock.advance(hourMs / 2);
    expect(probes()).to.equal(2);
    expect(await world.store.get(snapshots, key)).to.include({ status: 'Ready' });
    expect(world.driver.observed.at(-1)).to.equal(true);
    await world.stop();
  });
});
