import { expect } from 'chai';
import { settle } from 'kedge/testing';
import { storageClasses } from '../storage-class/kind.js';
import { snapshots } from './kind.js';
import { StorageWorld } from '../testing/storage-world.js';
import { snapshotFinalizer } from './admission.js';

const key = { namespace: 'default', name: 's' };

describe('a snapshot whose deletion fails because of its class', () => {
  let world: StorageWorld;
  beforeEach(async () => {
    world = await StorageWorld.start();
    await world.createVolume();
    await world.store.create(snapshots, {
      ...key,
      source: { volume: 'v' },
      metadata: { finalizers: [snapshotFinalizer] },
    });
    await settle();
    expect(await world.store.get(snapshots, key)).to.include({ status: 'Ready' });
    await change({ token: 'secret:missing/key' });
    await world.store.deleteByName(snapshots, key);
    await settle();
    // Enough failures for long waits between attempts.
    await world.clock.advance(3_600_000);
    expect(await world.store.get(snapshots, key)).to.include({ status: 'Failed' });
  });
  afterEach(() => world.stop());

  async function change(parameters: Readonly<Record<string, string>>): Promise<void> {
    const storageClass = await world.store.get(storageClasses, { name: 'c' });
    if (storageClass) await world.store.update(storageClasses, { ...storageClass, parameters });
    await settle();
  }

  it('is removed as soon as the class is corrected', async () => {
    await change({});
    expect(await world.store.get(snapshots, key)).to.equal(undefined);
    expect(world.driver.calls).to.include('deleteSnapshot');
  });

  it('is removed as soon as the class is created again', async () => {
    await world.store.deleteByName(storageClasses, { name: 'c' });
    await world.store.create(storageClasses, {
      name: 'c',
      driver: 'played',
      reclaimPolicy: 'delete',
    });
    await settle();
    expect(await world.store.get(snapshots, key)).to.equal(undefined);
  });
});
