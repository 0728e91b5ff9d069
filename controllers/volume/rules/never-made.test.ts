import { expect } from 'chai';
import { settle } from 'kedge/testing';
import { snapshots } from '../../snapshot/kind.js';
import { storageClasses } from '../../storage-class/kind.js';
import { volumes } from '../kind.js';
import { snapshotFinalizer } from '../../snapshot/admission.js';
import { StorageWorld } from '../../testing/storage-world.js';
import { rearm } from '../reconcile/controller.js';

const withToken = { parameters: { token: 'secret:token/key' } };
const key = { namespace: 'default', name: 'v' };

describe('a volume that was never provisioned', () => {
  let world: StorageWorld;
  beforeEach(async () => {
    world = await StorageWorld.start();
  });
  afterEach(() => world.stop());

  const removeClass = async (): Promise<void> => {
    await world.store.deleteByName(storageClasses, { name: 'c' });
    await settle();
  };

  it('is deleted without the secret that it waits for', async () => {
    await world.createVolume(withToken);
    expect(await world.volume()).to.include({ status: 'Failed', reason: 'InvalidParameters' });
    await world.deleteVolume();
    expect(await world.volume()).to.equal(undefined);
    expect(world.driver.calls).to.deep.equal([]);
  });

  it('is deleted without the secret after manual and timed retries, and a restart', async () => {
    await world.createVolume(withToken);
    await rearm(world.store, (await world.volume())!);
    await settle();
    await world.clock.advance(40 * 60_000);
    await world.restart();
    expect(await world.volume()).to.include({ status: 'Failed', reason: 'InvalidParameters' });
    await world.deleteVolume();
    expect(await world.volume()).to.equal(undefined);
    expect(world.driver.calls).to.deep.equal([]);
  });

  it('is not provisioned with an empty value of a secret, which drivers treat as absent', async () => {
    await world.writeSecret('token', '');
    await world.createVolume(withToken);
    expect(await world.volume()).to.include({ status: 'Failed', reason: 'InvalidParameters' });
    expect((await world.volume())?.failureMessage).to.contain(
      'secret default/token has an empty value for key "key"; set it, or omit the parameter',
    );
    expect(world.driver.calls).to.deep.equal([]);
    await world.writeSecret('token', 'right');
    expect(await world.volume()).to.include({ status: 'Available' });
  });

  it('waits for the package of its driver, is provisioned once it is installed, and is deleted without it', async () => {
    world.driver.isIncomplete = true;
    await world.createVolume();
    const volume = await world.volume();
    expect(volume).to.include({ status: 'Pending', reason: 'Unavailable' });
    expect(volume?.conditions?.[0]?.message).to.contain(
      'run: npm install --global @some/sdk@1.0.0',
    );
    await world.createVolume({ name: 'w' });
    await world.deleteVolume();
    expect(await world.volume()).to.equal(undefined);
    world.driver.isIncomplete = false;
    await world.clock.advance(60_000);
    expect(await world.volume('w')).to.include({ status: 'Available' });
    expect(world.driver.calls).to.deep.equal(['provision']);
  });

  it('is deleted after its class was removed, regardless of its policy', async () => {
    for (const reclaimPolicy of ['retain', 'delete'] as const) {
      await removeClass().catch(() => undefined);
      await world.createVolume({ reclaimPolicy });
      expect(await world.volume()).to.include({ status: 'Failed' });
      await world.deleteVolume();
      expect(await world.volume(), reclaimPolicy).to.equal(undefined);
    }
  });

  it('is deleted while it is Stalled, and fails permanently, if its driver does not observe', async () => {
    for (const isDeleted of [true, false]) {
      world.driver.failsOn = { provision: 'Timeout', observe: 'Unsupported' };
      await world.createVolume();
      expect(await world.volume()).to.include({ status: 'Stalled' });
      // Like a driver for foreign objects in a copy of a cluster.
      world.driver.failsOn = { provision: 'Unsupported', observe: 'Unsupported' };
      if (isDeleted) await world.deleteVolume();
      await world.clock.advance(5 * 60_000);
      const volume = await world.volume();
      if (isDeleted) expect(volume).to.equal(undefined);
      else expect(volume).to.include({ status: 'Failed', reason: 'Unsupported' });
    }
  });

  it('is provisioned when the secret is created', async () => {
    await world.createVolume(withToken);
    await world.writeSecret('token', 'value');
    expect(await world.volume()).to.include({ status: 'Available', handle: 'h' });
    expect(world.driver.tokenOf('provision')).to.equal('value');
  });

  it('may exist once a driver was called: that driver is called for the deletion', async () => {
    await world.writeSecret('token', 'value');
    world.driver.failsOn = { provision: 'PermissionDenied' };
    await world.createVolume(withToken);
    expect(await world.volume()).to.include({ status: 'Failed' });
    await world.deleteSecret('token');
    await world.deleteVolume();
    const waiting = await world.volume();
    expect(waiting?.failureMessage).to.contain('secret default/token does not exist; create it');
    expect(world.driver.calls).to.not.include('delete');
    await world.writeSecret('token', 'again');
    expect(await world.volume()).to.equal(undefined);
    expect(world.driver.tokenOf('delete')).to.equal('again');
  });

  it('reports what to create if its driver was called and both class and secret are missing', async () => {
    await world.writeSecret('token', 'value');
    world.driver.failsOn = { provision: 'PermissionDenied' };
    await world.createVolume(withToken);
    await world.deleteSecret('token');
    await removeClass();
    await world.deleteVolume();
    const waiting = await world.volume();
    expect(waiting).to.include({ status: 'Failed' });
    expect(waiting?.failureMessage).to.contain('secret default/token does not exist; create it');
    world.driver.failsOn = {};
    await world.writeSecret('token', 'again');
    expect(await world.volume()).to.equal(undefined);
    expect(world.driver.tokenOf('delete')).to.equal('again');
  });

  it('reports that its snapshot does not exist, and no longer the failure of its restore', async () => {
    const of = { namespace: 'default', name: 's' };
    await world.createVolume();
    const metadata = { finalizers: [snapshotFinalizer] };
    await world.store.create(snapshots, { ...of, source: { volume: 'v' }, metadata });
    await settle();
    world.driver.failsOn = { restore: 'PermissionDenied' };
    await world.createVolume({ name: 'restored', source: { snapshot: 's' } });
    await world.store.deleteByName(snapshots, of);
    await settle();
    world.driver.failsOn = {};
    await world.clock.advance(40 * 60_000);
    const volume = await world.store.get(volumes, { namespace: 'default', name: 'restored' });
    expect(volume).to.include({
      status: 'Failed',
      reason: 'SnapshotNotReady',
      failureMessage: 'snapshot "default/s" does not exist; create it, or delete this volume',
    });
  });

  it('is not observed by the driver of a later class of the name', async () => {
    world.driver.failsOn = { provision: 'PermissionDenied' };
    await world.createVolume();
    await removeClass();
    await world.store.create(storageClasses, { name: 'c', driver: 'another' });
    await settle();
    const volume = await world.volume();
    expect(volume).to.include({ status: 'Failed', driver: 'played' });
    expect(volume?.failureMessage).to.contain('its class "c" now has driver another');
    world.driver.failsOn = {};
    await world.deleteVolume();
    expect(await world.volume()).to.equal(undefined);
    expect(world.driver.calls.at(-1)).to.equal('delete');
  });

  it('is not retried, and leaves nothing, once it is deleted while its provider has no capacity', async () => {
    world.driver.failsOn = { provision: 'QuotaExceeded' };
    await world.createVolume();
    expect(await world.volume()).to.include({ status: 'Provisioning', reason: 'QuotaExceeded' });
    await world.deleteVolume();
    expect(await world.volume()).to.equal(undefined);
    expect(world.driver.calls).to.deep.equal(['provision', 'provision', 'delete']);
  });

  describe('when its service is deleted', () => {
    const owned = { ...withToken, ownerService: 'default/s' };

    it('is deleted too, instead of being Released, and is created again once the cause is removed', async () => {
      for (const reclaimPolicy of ['retain', 'delete'] as const) {
        await world.createService('s');
        await world.createVolume({ ...owned, reclaimPolicy });
        expect(await world.volume()).to.include({ status: 'Failed' });
        await world.deleteService('s');
        expect(await world.volume(), reclaimPolicy).to.equal(undefined);
      }
      await world.writeSecret('token', 'value');
      await world.createService('s');
      await world.createVolume(owned);
      expect(await world.volume()).to.include({ status: 'Available', handle: 'h' });
    });

    it('is deleted while it waits in Pending', async () => {
      await world.createService('s');
      await world.createVolume({ ownerService: 'default/s', source: { snapshot: 'none' } });
      expect(await world.volume()).to.include({ status: 'Pending' });
      await world.deleteService('s');
      expect(await world.volume()).to.equal(undefined);
      expect(world.driver.calls).to.deep.equal([]);
    });

    it('leaves nothing at the provider that an attempt may have created', async () => {
      world.driver.failsOn = { provision: 'PermissionDenied' };
      await world.createService('s');
      await world.createVolume({ ownerService: 'default/s', reclaimPolicy: 'retain' });
      await world.deleteService('s');
      await world.clock.advance(10_000);
      expect(await world.volume()).to.equal(undefined);
      expect(world.driver.calls).to.deep.equal(['provision', 'delete']);
    });

    it('is Released with its data when it has a handle', async () => {
      await world.createService('s');
      await world.createVolume({ ownerService: 'default/s', reclaimPolicy: 'retain' });
      await world.deleteService('s');
      expect(await world.volume()).to.include({ status: 'Released', handle: 'h' });
      await world.createService('s');
      expect(await world.volume()).to.include({ status: 'Available', handle: 'h' });
    });

    it('is deleted where an earlier version left it Released without a handle', async () => {
      await world.createService('s');
      await world.createVolume(owned);
      await world.store.updateStatus(volumes, key, { status: 'Released', driver: '' });
      await settle();
      expect(await world.volume()).to.equal(undefined);
    });
  });
});
