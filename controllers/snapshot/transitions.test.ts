import { expect } from 'chai';
import { settle } from 'kedge/testing';
import { nodes } from '../node/kind.js';
import { type Snapshot, snapshots } from './kind.js';
import { testRows } from '../testing/row-tests.js';
import type { StorageWorld } from '../testing/storage-world.js';
import { snapshotFinalizer } from './admission.js';
import { transitions } from './phases.js';

const key = { namespace: 'default', name: 's' };
const hour = 3_600_000;

const snapshot = async (world: StorageWorld): Promise<Snapshot> =>
  (await world.store.get(snapshots, key))!;
const count = (world: StorageWorld, call: string): number =>
  world.driver.calls.filter((one) => one === call).length;

/** Creates a snapshot of the volume `v`, which may be missing. */
async function create(world: StorageWorld): Promise<void> {
  await world.store.create(snapshots, {
    ...key,
    source: { volume: 'v' },
    metadata: { finalizers: [snapshotFinalizer] },
  });
  await settle();
}

async function made(world: StorageWorld): Promise<void> {
  await world.createVolume();
  await create(world);
}

async function failing(world: StorageWorld, on: StorageWorld['driver']['failsOn']): Promise<void> {
  world.driver.failsOn = on;
  await made(world);
}

/** Creates a snapshot of a volume whose secret was deleted after its provisioning. */
async function withoutSecret(world: StorageWorld): Promise<void> {
  await world.writeSecret('token', 'value');
  await world.createVolume({ parameters: { token: 'secret:token/key' } });
  await world.deleteSecret('token');
  await create(world);
}

/** Changes the labels of the snapshot like a user, which causes another attempt. */
async function retry(world: StorageWorld): Promise<void> {
  await world.store.update(snapshots, { ...(await snapshot(world)), labels: { again: 'yes' } });
  await settle();
}

async function retain(world: StorageWorld): Promise<void> {
  const reclaimPolicy = 'retain' as const;
  await world.store.update(snapshots, { ...(await snapshot(world)), reclaimPolicy });
  await settle();
}

/** Moves the snapshot to a node that is NotReady. */
async function atSilentNode(world: StorageWorld): Promise<void> {
  await world.store.create(nodes, { name: 'far' });
  await world.store.updateStatus(nodes, { name: 'far' }, { status: 'NotReady' });
  await world.store.updateStatus(snapshots, key, { topology: { 'svc.io/node': 'far' } });
  await settle();
}

async function remove(world: StorageWorld): Promise<void> {
  await world.store.deleteByName(snapshots, key);
  await settle();
}

describe('transitions of a snapshot', () => {
  testRows(snapshots, transitions, {
    'S1 None created': async (world) => {
      await create(world);
      expect(await snapshot(world)).to.include({ attempts: 0 });
    },
    'S2 Pending waits': async (world) => {
      await create(world);
      await world.clock.advance(hour);
      expect(await snapshot(world)).to.include({ reason: 'SourceNotReady' });
    },
    'S3 Pending started': async (world) => {
      await failing(world, { createSnapshot: 'Unavailable' });
      expect(await snapshot(world)).to.include({ driver: 'played' });
      const { metadata } = await snapshot(world);
      expect((await world.volume())?.snapshotsInFlight).to.deep.equal([metadata.uid]);
    },
    'S4 Creating pending': async (world) => {
      await failing(world, { createSnapshot: 'Unavailable' });
      await world.clock.advance(10_000);
      expect(count(world, 'createSnapshot')).to.be.within(2, 6);
    },
    'S5 Creating completed': async (world) => {
      await made(world);
      expect(await snapshot(world)).to.include({ handle: 's', restoreSize: '1073741824' });
      expect((await world.volume())?.snapshotsInFlight).to.deep.equal([]);
    },
    'S6 Creating failedForGood': async (world) => {
      await failing(world, { createSnapshot: 'PermissionDenied' });
      expect((await snapshot(world)).failureMessage).to.match(/^call/);
      expect((await world.volume())?.snapshotsInFlight).to.deep.equal([]);
    },
    'S6 Pending failedForGood': withoutSecret,
    'S7 Failed retried': async (world) => {
      await failing(world, { createSnapshot: 'PermissionDenied' });
      world.driver.failsOn = {};
      await retry(world);
      expect(await snapshot(world)).to.include({ status: 'Ready', failureMessage: '' });
    },
    'S8 Pending forgotten': async (world) => {
      await create(world);
      await remove(world);
      expect(world.driver.calls).to.deep.equal([]);
    },
    'S8 Failed forgotten': async (world) => {
      await withoutSecret(world);
      await remove(world);
      expect(count(world, 'deleteSnapshot')).to.equal(0);
    },
    'S8 Pending deleting': async (world) => {
      await failing(world, { createSnapshot: 'PermissionDenied' });
      await world.deleteVolume();
      await retry(world);
      expect(await snapshot(world)).to.include({ status: 'Pending', reason: 'SourceNotReady' });
      await remove(world);
      expect(count(world, 'deleteSnapshot'), 'what the attempt may have created').to.equal(1);
    },
    'S9 Creating deletionRequested': async (world) => {
      await failing(world, { createSnapshot: 'Unavailable' });
      await remove(world);
      await world.clock.advance(10_000);
      expect((await snapshot(world)).metadata.deletionRequestedAt).to.be.a('string');
      expect(count(world, 'deleteSnapshot')).to.equal(0);
    },
    'S10 Ready deleting': async (world) => {
      await made(world);
      await remove(world);
    },
    'S10 Failed deleting': async (world) => {
      await failing(world, { createSnapshot: 'PermissionDenied' });
      await remove(world);
      expect(count(world, 'deleteSnapshot')).to.equal(1);
    },
    'S11 Deleting deleted': async (world) => {
      await made(world);
      await remove(world);
      expect(world.driver.made.size, 'the volume alone').to.equal(1);
    },
    'S12 Deleting deleteFailed': async (world) => {
      await failing(world, { deleteSnapshot: 'PermissionDenied' });
      await remove(world);
      expect(await snapshot(world)).to.include({ handle: 's' });
      await world.clock.advance(600_000);
      expect(count(world, 'deleteSnapshot'), 'with backoff').to.be.within(4, 16);
      world.driver.failsOn = {};
      await world.clock.advance(hour);
      expect(await world.store.get(snapshots, key)).to.equal(undefined);
    },
    'S13 Ready lost': async (world) => {
      await failing(world, { observeSnapshot: 'NotFound' });
      await world.clock.advance(2 * hour);
      expect((await snapshot(world)).failureMessage).to.match(/^SnapshotLost/);
    },
    'S14 Ready forgotten': async (world) => {
      await made(world);
      await retain(world);
      await remove(world);
      expect(count(world, 'deleteSnapshot')).to.equal(0);
      expect(world.driver.made.size, 'the volume and the copy').to.equal(2);
    },
    'S14 Failed forgotten': async (world) => {
      await failing(world, { deleteSnapshot: 'InvalidParameters' });
      await remove(world);
      expect((await snapshot(world)).failureMessage).to.match(
        /; or set reclaimPolicy to retain to remove the object without a deletion$/,
      );
      await retain(world);
      expect(await world.store.get(snapshots, key)).to.equal(undefined);
    },
    'S14 Deleting forgotten': async (world) => {
      await made(world);
      await atSilentNode(world);
      await remove(world);
      await retain(world);
      expect(await snapshot(world), 'no answer of the node').to.include({ status: 'Deleting' });
      const call = { call: 'deleteSnapshot', startedAt: '', message: 'no', nextTryAt: '' };
      const lastOperation = { ...call, outcome: 'InvalidParameters' };
      await world.store.updateStatus(snapshots, key, { lastOperation });
      await settle();
    },
  });
});
