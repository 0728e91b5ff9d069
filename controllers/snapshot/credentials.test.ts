import { expect } from 'chai';
import { modify, modifyStatus } from 'kedge';
import { settle } from 'kedge/testing';
import { storageClasses } from '../storage-class/kind.js';
import { StorageWorld } from '../testing/storage-world.js';
import { volumes } from '../volume/kind.js';
import { snapshotFinalizer } from './admission.js';
import { type Snapshot, snapshots } from './kind.js';

const key = { namespace: 'default', name: 's' };

describe('the credentials of a snapshot', () => {
  let world: StorageWorld;
  beforeEach(async () => {
    world = await StorageWorld.start();
    world.driver.sensitiveParameters = ['token'];
  });
  afterEach(() => world.stop());

  const setClass = async (parameters: Readonly<Record<string, string>>): Promise<void> => {
    await modify(world.store, storageClasses, { name: 'c' }, (found) => ({ ...found, parameters }));
    await settle();
  };
  const setOwn = async (token: string): Promise<void> => {
    await modify(world.store, volumes, { namespace: 'default', name: 'v' }, (found) => ({
      ...found,
      parameters: { token },
    }));
    await settle();
  };
  const create = async (): Promise<void> => {
    const metadata = { finalizers: [snapshotFinalizer] };
    await world.store.create(snapshots, { ...key, source: { volume: 'v' }, metadata });
    await settle();
  };
  const remove = async (): Promise<void> => {
    await world.store.deleteByName(snapshots, key);
    await settle();
  };
  const snapshot = async (): Promise<Snapshot | undefined> => world.store.get(snapshots, key);
  const refuse = (): void => {
    world.driver.failsOn = { createSnapshot: 'CredentialsRejected' };
  };

  for (const ofClass of [{}, { token: 'of-the-class' }])
    it(`are those of its volume, if the volume has its own, and the class has ${ofClass.token ?? 'none'}`, async () => {
      await setClass(ofClass);
      await world.createVolume({ parameters: { token: 'own' } });
      await create();
      expect(await snapshot()).to.include({ status: 'Ready' });
      expect(world.driver.tokenOf('createSnapshot')).to.equal('own');
      await modify(world.store, snapshots, key, (found) => ({ ...found, labels: { a: 'b' } }));
      await world.deleteVolume();
      await remove();
      expect(await snapshot()).to.equal(undefined);
      expect(world.driver.tokenOf('deleteSnapshot')).to.equal('own');
    });

  it('are those that its volume has at the time of the call', async () => {
    await world.createVolume({ parameters: { token: 'own' } });
    await create();
    await setOwn('renewed');
    await remove();
    expect(world.driver.tokenOf('deleteSnapshot')).to.equal('renewed');
  });

  it('are the last ones of its volume once that is deleted', async () => {
    await world.createVolume({ parameters: { token: 'own' } });
    await create();
    await setOwn('renewed');
    await world.deleteVolume();
    await remove();
    expect(await snapshot()).to.equal(undefined);
    expect(world.driver.tokenOf('deleteSnapshot')).to.equal('renewed');
  });

  it('cause a retry once its volume has others of its own', async () => {
    await world.createVolume({ parameters: { token: 'own' } });
    refuse();
    await create();
    expect(await snapshot()).to.include({ status: 'Failed' });
    const calls = world.driver.calls.length;
    await settle();
    expect(world.driver.calls, 'no call without a change').to.have.length(calls);
    await setOwn('still-refused');
    expect(world.driver.tokenOf('createSnapshot')).to.equal('still-refused');
    expect(await snapshot()).to.include({ status: 'Failed' });
    world.driver.failsOn = {};
    await setOwn('good');
    expect(await snapshot()).to.include({ status: 'Ready' });
    expect(world.driver.tokenOf('createSnapshot')).to.equal('good');
  });

  for (const ofClass of [{}, { session: 'of-the-class' }])
    it(`are not those that its volume had and lost, with ${ofClass.session ?? 'none'} in the class`, async () => {
      world.driver.sensitiveParameters = ['token', 'session'];
      await setClass(ofClass);
      await world.createVolume({ parameters: { token: 'own', session: 'lost' } });
      await create();
      expect((await snapshot())?.driverParameters).to.include({ session: 'lost' });
      await setOwn('own');
      const { driverParameters } = (await snapshot()) ?? {};
      expect(driverParameters).to.deep.equal({ ...ofClass, token: 'own' });
    });

  it('are not those that its volume lost before the snapshot, once class and volume are gone', async () => {
    world.driver.sensitiveParameters = ['token', 'session'];
    await world.createVolume({ parameters: { token: 'own', session: 'lost' } });
    await setOwn('own');
    await create();
    expect((await snapshot())?.driverParameters).to.deep.equal({ token: 'own' });
  });

  it('are those of the class for a snapshot of an earlier release, whose volume has lost its own', async () => {
    world.driver.sensitiveParameters = ['token', 'session'];
    await setClass({ token: 'of-the-class' });
    await world.createVolume({ parameters: { session: 'lost' } });
    await modify(world.store, volumes, { namespace: 'default', name: 'v' }, (found) => ({
      ...found,
      parameters: {},
    }));
    await create();
    const driverParameters = { token: 'of-the-class', session: 'lost' };
    await modifyStatus(world.store, snapshots, key, () => ({
      driverParameters,
      ownParameters: undefined as never,
    }));
    await settle();
    expect((await snapshot())?.driverParameters).to.deep.equal({ token: 'of-the-class' });
  });

  it('cause a retry once the class has one less', async () => {
    world.driver.sensitiveParameters = ['token', 'session'];
    await setClass({ token: 'good', session: 'ended' });
    await world.createVolume();
    refuse();
    await create();
    expect(await snapshot()).to.include({ status: 'Failed' });
    world.driver.failsOn = {};
    await setClass({ token: 'good' });
    expect(await snapshot()).to.include({ status: 'Ready' });
  });

  it('are not those of a later volume with the name of its source', async () => {
    await world.createVolume({ parameters: { token: 'own' } });
    await create();
    await world.deleteVolume();
    await world.createVolume({ parameters: { token: 'of-another' } });
    await remove();
    expect(world.driver.tokenOf('deleteSnapshot')).to.equal('own');
  });

  it('cause a retry once the class has others, as a literal or in another secret', async () => {
    await world.writeSecret('second', 'good');
    await setClass({ token: 'first' });
    await world.createVolume();
    refuse();
    await create();
    expect(await snapshot()).to.include({ status: 'Failed' });
    await setClass({ token: 'other' });
    expect(world.driver.tokenOf('createSnapshot')).to.equal('other');
    expect(await snapshot()).to.include({ status: 'Failed' });
    world.driver.failsOn = {};
    await setClass({ token: 'secret:second/key' });
    expect(await snapshot()).to.include({ status: 'Ready' });
    expect(world.driver.tokenOf('createSnapshot')).to.equal('good');
  });

  it('cause a retry once a secret changes to which the class refers since the volume was provisioned', async () => {
    await world.writeSecret('first', 'good');
    await world.writeSecret('second', 'bad');
    await setClass({ token: 'secret:first/key' });
    await world.createVolume();
    await setClass({ token: 'secret:second/key' });
    refuse();
    await create();
    expect(await snapshot()).to.include({ status: 'Failed' });
    world.driver.failsOn = {};
    await world.writeSecret('second', 'good');
    expect(await snapshot()).to.include({ status: 'Ready' });
  });

  it('cause no retry if only the labels of the class changed', async () => {
    await world.createVolume();
    refuse();
    await create();
    const calls = world.driver.calls.length;
    await modify(world.store, storageClasses, { name: 'c' }, (found) => ({
      ...found,
      labels: { a: 'b' },
    }));
    await settle();
    expect(world.driver.calls).to.have.length(calls);
  });
});
