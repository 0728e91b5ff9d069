import { expect } from 'chai';
import { StorageWorld } from '../../testing/storage-world.js';

describe('the cost of a volume', () => {
  it('a volume becomes Available in one run and two transactions after its creation', async () => {
    const world = await StorageWorld.start();
    const runs = world.volumeRuns;
    const { revision } = world.store;
    await world.createVolume();
    expect((await world.volume())?.status).to.equal('Available');
    expect(world.volumeRuns - runs, 'runs').to.equal(1);
    expect(world.store.revision - revision, 'the creation, the intent and the result').to.equal(3);
    await world.stop();
  });
});
