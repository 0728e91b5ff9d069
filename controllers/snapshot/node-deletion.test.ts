import { expect } from 'chai';
import { reachState, settle } from 'kedge/testing';
import { isDeletionDone } from '../provisioned/conditions.js';
import { StorageWorld } from '../testing/storage-world.js';
import { snapshotFinalizer } from './admission.js';
import { type Snapshot, snapshots } from './kind.js';

const key = { namespace: 'default', name: 's' };

describe('the part of a node, for a snapshot that is being deleted', () => {
  it('reports a final error without a phase: the cluster would request the deletion again at once', async () => {
    const world = await StorageWorld.start({ part: 'node' });
    world.driver.failsOn = { deleteSnapshot: 'PermissionDenied' };
    const metadata = { finalizers: [snapshotFinalizer] };
    await world.store.create(snapshots, { ...key, source: { volume: 'v' }, metadata });
    const status = { driver: 'played', handle: 's', topology: { 'svc.io/node': 'n' } };
    await reachState(world.store, snapshots, key, 'Ready', status);
    await world.store.deleteByName(snapshots, key);
    await world.store.updateStatus(snapshots, key, { status: 'Deleting' });
    await settle();
    const seen = (): Promise<Snapshot | undefined> => world.store.get(snapshots, key);
    expect(await seen()).to.include({ status: 'Deleting', reason: 'PermissionDenied' });
    expect((await seen())?.lastOperation).to.include({ outcome: 'PermissionDenied' });
    world.driver.failsOn = {};
    await world.clock.advance(60_000);
    expect(isDeletionDone((await seen())?.conditions)).to.equal(true);
    await world.stop();
  });
});
