import { expect } from 'chai';
import { settle } from 'kedge/testing';
import { volumeFinalizer } from '../admission.js';
import { nextPhase } from '../states/phases.js';
import { StorageWorld } from '../../testing/storage-world.js';
import { volumes } from '../kind.js';

const key = { namespace: 'default', name: 'v' };

describe('a volume that was imported', () => {
  let world: StorageWorld;
  beforeEach(async () => {
    world = await StorageWorld.start();
    const object = {
      ...{ ...key, storageClassName: 'c', size: '1Gi', accessMode: 'ReadWriteOnce' },
      ...{ driver: 'played', handle: 'h', importedAs: 'by-hand', sizeBytes: String(1024 ** 3) },
      metadata: { finalizers: [volumeFinalizer] },
    } as const;
    await world.store.transact([
      { op: 'create', kind: volumes, object },
      {
        op: 'updateStatus',
        kind: volumes,
        key,
        status: { status: nextPhase('Pending', 'imported') },
      },
    ]);
    await settle();
  });
  afterEach(() => world.stop());

  it('is probed within seconds, because it may have been deleted after the import observed it', async () => {
    expect(world.driver.calls).to.deep.equal([]);
    await world.clock.advance(11_000);
    expect(world.driver.calls).to.deep.equal(['observe']);
    await world.clock.advance(600_000);
    expect(world.driver.calls, 'later at the usual interval').to.have.length(1);
  });

  it('is lost after the second probe that does not find it', async () => {
    world.driver.fails = 'NotFound';
    await world.clock.advance(11_000);
    await world.clock.advance(60_000);
    expect(await world.volume()).to.include({ status: 'Failed', reason: 'VolumeLost' });
  });

  it('has no first probe when a process starts long after the import', async () => {
    await world.clock.advance(3 * 3_600_000);
    const before = world.driver.calls.length;
    await world.restart();
    await world.clock.advance(11_000);
    expect(world.driver.calls).to.have.length(before);
  });
});
