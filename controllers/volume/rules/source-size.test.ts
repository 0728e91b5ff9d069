import { expect } from 'chai';
import { reachState, settle } from 'kedge/testing';
import { snapshots } from '../../snapshot/kind.js';
import { StorageWorld } from '../../testing/storage-world.js';
import { type Volume, volumes } from '../kind.js';

const snapshotKey = { namespace: 'default', name: 's' };
const source = { snapshot: 's' };
const restoreSize = String(2 * 1024 ** 3);

describe('a volume that is restored from a snapshot', () => {
  let world: StorageWorld;
  beforeEach(async () => {
    world = await StorageWorld.start();
    await world.store.create(snapshots, { ...snapshotKey, source: { volume: 'elsewhere' } });
  });
  afterEach(() => world.stop());

  const volume = async (): Promise<Volume> => (await world.volume()) ?? expect.fail('it is gone');
  const ready = async (): Promise<void> => {
    await reachState(world.store, snapshots, snapshotKey, 'Ready', {
      driver: 'played',
      handle: 's',
      restoreSize,
    });
    await settle();
  };

  it('is not provisioned while it is smaller than the restore size of the snapshot, and reports the size that it needs', async () => {
    await world.createVolume({ source });
    expect(await volume()).to.include({ status: 'Pending', reason: 'SnapshotNotReady' });
    await ready();
    const waiting = await volume();
    expect(waiting).to.include({ status: 'Pending', reason: 'SizeTooSmall' });
    const [condition] = waiting.conditions ?? [];
    expect(condition?.message).to.contain(`kedge volume resize v ${restoreSize} -n default`);
    expect(world.driver.calls).to.deep.equal([]);
    await world.store.update(volumes, { ...waiting, size: restoreSize });
    await settle();
    expect(await volume()).to.include({ status: 'Available', sizeBytes: restoreSize });
    expect(world.driver.calls).to.deep.equal(['restore']);
  });
});
