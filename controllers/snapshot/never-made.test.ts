import { expect } from 'chai';
import { findCondition, modify } from 'kedge';
import { settle } from 'kedge/testing';
import { volumes } from '../volume/kind.js';
import { type Snapshot, snapshots } from './kind.js';
import { StorageWorld } from '../testing/storage-world.js';
import { snapshotFinalizer } from './admission.js';

const key = { namespace: 'default', name: 's' };

describe('a snapshot that was never created', () => {
  let world: StorageWorld;
  beforeEach(async () => {
    world = await StorageWorld.start();
    await world.writeSecret('token', 'value');
    await world.createVolume({ parameters: { token: 'secret:token/key' } });
    await world.deleteSecret('token');
    await world.store.create(snapshots, {
      ...key,
      source: { volume: 'v' },
      metadata: { finalizers: [snapshotFinalizer] },
    });
    await settle();
  });
  afterEach(() => world.stop());

  const snapshot = async (): Promise<Snapshot | undefined> => world.store.get(snapshots, key);
  const remove = async (): Promise<void> => {
    await world.store.deleteByName(snapshots, key);
    await settle();
  };

  it('reports which secret is missing, and does not block its source', async () => {
    expect(await snapshot()).to.include({ status: 'Failed', reason: 'InvalidParameters' });
    expect((await snapshot())?.failureMessage).to.contain('secret default/token does not exist');
    expect((await world.volume())?.snapshotsInFlight ?? []).to.deep.equal([]);
  });

  it('is reported with its failure and the remedy by the volume that waits for it', async () => {
    await world.createVolume({ name: 'copy', source: { snapshot: 's' } });
    const condition = findCondition((await world.volume('copy'))?.conditions, 'Provisioned');
    expect(condition?.reason).to.equal('SnapshotNotReady');
    expect(condition?.message)
      .to.contain('snapshot "default/s" is Failed: InvalidParameters')
      .and.to.contain('secret default/token does not exist')
      .and.to.contain('then: kedge snapshot retry s -n default; or delete this volume');
  });

  it('is deleted without the secret', async () => {
    await remove();
    expect(await snapshot()).to.equal(undefined);
    expect(world.driver.calls).to.deep.equal(['provision']);
  });

  it('is created when the secret is created', async () => {
    await world.writeSecret('token', 'again');
    expect(await snapshot()).to.include({ status: 'Ready', handle: 's' });
    expect(world.driver.tokenOf('createSnapshot')).to.equal('again');
  });

  it('is never created from a volume that received the name of its source later', async () => {
    await world.deleteVolume();
    await world.writeSecret('token', 'again');
    await world.clock.advance(60_000);
    expect(await world.volume()).to.equal(undefined);
    await world.createVolume();
    await world.clock.advance(60_000);
    const { status, conditions } = (await snapshot())!;
    expect(status).to.equal('Pending');
    const condition = findCondition(conditions, 'Ready');
    expect(condition?.message).to.contain('does not exist any more; delete this snapshot');
    expect(world.driver.calls).to.not.include('createSnapshot');
  });

  it('may exist once a driver was called: that driver is called for the deletion', async () => {
    world.driver.failsOn = { createSnapshot: 'PermissionDenied' };
    await world.writeSecret('token', 'again');
    expect(await snapshot()).to.include({ status: 'Failed', driver: 'played' });
    await world.deleteSecret('token');
    await remove();
    await world.clock.advance(5_000);
    expect(await snapshot()).to.not.equal(undefined);
    await world.writeSecret('token', 'last');
    await world.clock.advance(5_000);
    expect(await snapshot()).to.equal(undefined);
    expect(world.driver.tokenOf('deleteSnapshot')).to.equal('last');
  });

  for (const [kind, words] of [
    ['CredentialsRejected', 'no'],
    ['Unavailable', 'the class has no accessKeyId, and nothing answers'],
  ] as const)
    it(`is removed under retain although no credential is ever accepted, ${kind}`, async () => {
      world.driver.failsOn = { createSnapshot: kind, deleteSnapshot: kind };
      world.driver.failsWith = words;
      await world.writeSecret('token', 'again');
      await world.clock.advance(3_600_000);
      expect(await snapshot()).to.include({ status: 'Failed', reason: kind });
      await remove();
      await world.clock.advance(5_000);
      expect(await snapshot()).to.not.equal(undefined);
      const change = (found: Snapshot): Snapshot => ({ ...found, reclaimPolicy: 'retain' });
      await modify(world.store, snapshots, key, change);
      await settle();
      expect(await snapshot()).to.equal(undefined);
    });
});

describe('a snapshot of a volume that was not provisioned', () => {
  let world: StorageWorld;
  beforeEach(async () => {
    world = await StorageWorld.start();
  });
  afterEach(() => world.stop());

  it('reports the present failure of its source', async () => {
    world.driver.failsOn = { provision: 'PermissionDenied' };
    await world.createVolume({ parameters: { token: 'secret:token/key' } });
    await world.store.create(snapshots, { ...key, source: { volume: 'v' } });
    await settle();
    const readyMessage = async (): Promise<string | undefined> => {
      const snapshot = await world.store.get(snapshots, key);
      return findCondition(snapshot?.conditions, 'Ready')?.message;
    };
    expect(await readyMessage()).to.contain('secret default/token does not exist');
    await world.writeSecret('token', 'value');
    expect(await world.volume()).to.include({ status: 'Failed', reason: 'PermissionDenied' });
    await world.store.updateStatus(
      volumes,
      { namespace: 'default', name: 'v' },
      { failureMessage: 'another' },
    );
    await settle();
    expect(await readyMessage()).to.contain('is Failed: another;');
  });
});

describe('a snapshot that its provider has no room for', () => {
  let world: StorageWorld;
  beforeEach(async () => {
    world = await StorageWorld.start();
    world.driver.failsOn = { createSnapshot: 'QuotaExceeded' };
    await world.createVolume();
    await world.store.create(snapshots, {
      ...key,
      source: { volume: 'v' },
      metadata: { finalizers: [snapshotFinalizer] },
    });
    await settle();
  });
  afterEach(() => world.stop());

  it('is removed with its source as soon as both are deleted, and leaves nothing at the provider', async () => {
    expect(await world.store.get(snapshots, key)).to.include({ status: 'Creating' });
    await world.deleteVolume();
    await world.store.deleteByName(snapshots, key);
    await settle();
    expect(await world.store.get(snapshots, key)).to.equal(undefined);
    expect(await world.volume()).to.equal(undefined);
    expect(world.driver.calls).to.include('deleteSnapshot');
    expect(world.driver.made.size).to.equal(0);
  });

  it('is named by the deletion of its source, which waits for it', async () => {
    await world.deleteVolume();
    const waiting = await world.volume();
    expect(findCondition(waiting?.conditions, 'Deleted')).to.deep.include({
      status: 'False',
      reason: 'InUse',
      message:
        'the deletion of volume "default/v" waits until snapshots of it are created: "default/s"; delete those that are not needed',
    });
  });

  it('is retried', async () => {
    expect(await world.store.get(snapshots, key)).to.include({ status: 'Creating' });
    world.driver.failsOn = {};
    await world.clock.advance(60_000);
    expect(await world.store.get(snapshots, key)).to.include({ status: 'Ready' });
  });
});
