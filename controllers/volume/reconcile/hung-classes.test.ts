import { expect } from 'chai';
import { nodeTopologyKey } from '@kedge/driver-sdk';
import { settle } from 'kedge/testing';
import { nodes } from '../../node/kind.js';
import { storageClasses } from '../../storage-class/kind.js';
import { StorageWorld } from '../../testing/storage-world.js';

const classes = 40;
const perClass = 17;

describe('a provider with many classes that does not answer', () => {
  let world: StorageWorld;
  const hung: (() => void)[] = [];

  before(async () => {
    world = await StorageWorld.start();
  });
  after(async () => {
    for (const end of hung) end();
    await world.stop();
  });

  it('delays no volume of another class', async () => {
    let hangs = true;
    world.driver.onCall = () =>
      hangs
        ? new Promise<void>((resolve) => {
            hung.push(resolve);
          })
        : Promise.resolve();
    for (let n = 0; n < classes; n += 1) {
      const name = `hung-${n}`;
      await world.store.create(storageClasses, { name, driver: 'played' });
      for (let v = 0; v < perClass; v += 1)
        await world.createVolume({ name: `v-${n}-${v}`, storageClassName: name });
    }
    await settle();
    // Of each class 16 calls are in progress.
    expect(hung).to.have.length(classes * 16);
    hangs = false;
    await world.createVolume();
    expect((await world.volume())?.status).to.equal('Available');
  });
});

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
