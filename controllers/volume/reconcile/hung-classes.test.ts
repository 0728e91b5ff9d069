import { expect } from 'chai';
import { nodeTopologyKey } from '@kedge/driver-sdk';
import { settle } from 'kedge/testing';
import { nodes } from '../../node/kind.js';
import { snapshots } from '../../snapshot/kind.js';
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
    // 16 calls of each class are in progress.
    expect(hung).to.have.length(classes * 16);
    hangs = false;
    await world.createVolume();
    expect((await world.volume())?.status).to.equal('Available');
  });
});

describe('a class whose data is on nodes', () => {
  let world: StorageWorld;
  let hung: (() => void)[];

  /** Starts with classes `c` and `c-<n>` on nodes. The calls of the given names hang. */
  const start = async (classesOnNodes: number, ...calls: readonly string[]): Promise<void> => {
    hung = [];
    world = await StorageWorld.start();
    world.driver.topologyKeys = [nodeTopologyKey];
    await world.restart();
    await world.store.create(nodes, { name: 'n' });
    for (let n = 1; n < classesOnNodes; n += 1)
      await world.store.create(storageClasses, { name: `c-${n}`, driver: 'played' });
    await settle();
    world.driver.onCall = (call) =>
      calls.includes(call)
        ? new Promise<void>((resolve) => {
            hung.push(resolve);
          })
        : Promise.resolve();
  };
  const create = async (more: Parameters<StorageWorld['createVolume']>[0] = {}): Promise<void> => {
    for (let n = 100; n < 200; n += 1) await world.createVolume({ name: `v-${n}`, ...more });
    await settle();
  };
  afterEach(async () => {
    world.driver.onCall = () => Promise.resolve();
    for (const end of hung) end();
    await world.stop();
  });

  it('has 64 calls for new volumes in progress, also those that waited at the start', async () => {
    await start(1, 'provision');
    await create();
    expect(hung).to.have.length(64);
    hung.splice(0);
    await world.restartDuringCall();
    expect(hung).to.have.length(64);
  });

  it('has 16 restores in progress, and new volumes beside them', async () => {
    await start(1, 'restore');
    await world.createVolume();
    await world.store.create(snapshots, {
      ...{ namespace: 'default', name: 's', source: { volume: 'v' } },
    });
    await settle();
    await create({ source: { snapshot: 's' } });
    expect(hung).to.have.length(16);
    for (let n = 0; n < 20; n += 1) await world.createVolume({ name: `empty-${n}` });
    for (let n = 0; n < 20; n += 1)
      expect((await world.volume(`empty-${n}`))?.status).to.equal('Available');
  });

  it('has 16 deletions in progress', async () => {
    await start(1, 'delete');
    for (let n = 0; n < 40; n += 1) await world.createVolume({ name: `v-${n}` });
    for (let n = 0; n < 40; n += 1) await world.deleteVolume(`v-${n}`);
    await settle();
    expect(hung).to.have.length(16);
  });

  it('has 16 calls in progress if there are more than four such classes', async () => {
    await start(5, 'provision');
    await create();
    expect(hung).to.have.length(16);
  });
});
