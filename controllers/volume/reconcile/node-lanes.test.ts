import { expect } from 'chai';
import { nodeTopologyKey } from '@kedge/driver-sdk';
import { settle } from 'kedge/testing';
import { nodes } from '../../node/kind.js';
import { StorageWorld } from '../../testing/storage-world.js';

describe('a class whose data is on nodes', () => {
  it('has 64 calls in progress', async () => {
    const world = await StorageWorld.start();
    const hung: (() => void)[] = [];
    world.driver.topologyKeys = [nodeTopologyKey];
    await world.store.create(nodes, { name: 'n' });
    await world.createVolume({ name: 'first' });
    expect((await world.volume('first'))?.status).to.equal('Available');
    world.driver.onCall = () =>
      new Promise<void>((resolve) => {
        hung.push(resolve);
      });
    for (let n = 100; n < 200; n += 1) await world.createVolume({ name: `v-${n}` });
    await settle();
    expect(hung).to.have.length(64);
    world.driver.onCall = () => Promise.resolve();
    for (const end of hung) end();
    await world.stop();
  });
});
