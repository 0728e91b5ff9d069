import { expect } from 'chai';
import type { DriverErrorKind } from '@kedge/driver-sdk';
import { effectRecords, modify } from 'kedge';
import { reachState, settle } from 'kedge/testing';
import { storageClasses } from '../../storage-class/kind.js';
import { holderOf } from '../../secret/index.js';
import { StorageWorld } from '../../testing/storage-world.js';
import { volumes } from '../kind.js';
import { clearAttempt, isCreationOpen } from './earlier-attempt.js';

const key = { namespace: 'default', name: 'v' };

describe('a volume whose class changes after an attempt to provision it', () => {
  let world: StorageWorld;
  beforeEach(async () => {
    world = await StorageWorld.start();
    await setType('first');
  });
  afterEach(() => world.stop());

  const setType = (type: string): Promise<void> => setParameters({ type });
  const setParameters = async (parameters: Record<string, string>): Promise<void> => {
    const ofType = { parameters };
    await modify(world.store, storageClasses, { name: 'c' }, (found) => ({ ...found, ...ofType }));
    await settle();
  };
  const attempt = async (error: DriverErrorKind): Promise<void> => {
    world.driver.failsOn = { provision: error };
    await world.createVolume();
    world.driver.failsOn = {};
    await setType('second');
    await world.clock.advance(60_000);
    expect(await world.volume()).to.include({ status: 'Available' });
  };

  it('is provisioned once the remains of an attempt without an answer are deleted', async () => {
    await attempt('Unavailable');
    expect(world.driver.calls).to.deep.equal(['provision', 'delete', 'provision']);
  });

  it('is provisioned without a deletion if the attempt was refused: a resource with its uid is not from the attempt', async () => {
    await attempt('InvalidParameters');
    expect(world.driver.calls).to.deep.equal(['provision', 'provision']);
  });

  it('that changes back completes the deletion first, which does not delete the volume later', async () => {
    world.driver.failsOn = { provision: 'Unavailable' };
    await world.createVolume({ reclaimPolicy: 'retain' });
    world.driver.failsOn = {};
    world.driver.slow = { delete: 2 };
    await setType('second');
    await world.clock.advance(3_000);
    expect(world.driver.calls.at(-1)).to.equal('delete');
    await setType('first');
    await world.clock.advance(60_000);
    expect(await world.volume()).to.include({ status: 'Available' });
    const calls = ['provision', 'delete', 'delete', 'delete', 'provision'];
    expect(world.driver.calls).to.deep.equal(calls);
    await world.deleteVolume();
    await world.clock.advance(60_000);
    expect(await world.volume()).to.equal(undefined);
    expect(world.driver.calls).to.deep.equal(calls);
  });

  it('is provisioned once the possible result of an open creation is deleted, also if a later call of it was refused', async () => {
    world.driver.slow = { provision: 1 };
    await world.createVolume();
    world.driver.failsOn = { provision: 'InvalidParameters' };
    await world.clock.advance(10_000);
    expect(await world.volume()).to.include({ status: 'Failed', reason: 'InvalidParameters' });
    world.driver.failsOn = {};
    await setType('second');
    expect(world.driver.calls.slice(-2)).to.deep.equal(['delete', 'provision']);
  });

  it('waits while the driver refuses every parameter: a malformed credential shows nothing about the earlier place', async () => {
    world.driver.slow = { provision: 1 };
    await world.createVolume();
    world.driver.failsOn = { delete: 'InvalidParameters', observe: 'InvalidParameters' };
    await setType('second');
    await world.clock.advance(60_000);
    expect(world.driver.calls.filter((call) => call === 'provision')).to.have.length(1);
    expect(await world.volume()).to.include({ status: 'Provisioning' });
    world.driver.failsOn = { observe: 'NotFound' };
    const before = world.driver.calls.length;
    await world.clock.advance(600_000);
    expect(await world.volume()).to.include({ status: 'Available' });
    expect(world.driver.calls.slice(before)).to.deep.equal(['delete', 'provision']);
  });

  it('waits while an open creation may have created it and its deletion is not permitted', async () => {
    world.driver.slow = { provision: 1 };
    world.driver.failsOn = { delete: 'PermissionDenied' };
    await world.createVolume();
    await setType('second');
    await world.clock.advance(20_000);
    expect(world.driver.calls.filter((call) => call === 'provision')).to.have.length(1);
    expect(await world.volume()).to.include({ reason: 'PermissionDenied' });
    world.driver.failsOn = {};
    await world.clock.advance(60_000);
    expect(await world.volume()).to.include({ status: 'Available' });
    expect(world.driver.calls.slice(-2)).to.deep.equal(['delete', 'provision']);
  });

  it('has no parameters in its first attempt, whose remains are deleted as well', async () => {
    await setParameters({});
    await attempt('Unavailable');
    expect(world.driver.calls).to.deep.equal(['provision', 'delete', 'provision']);
  });

  it('does not continue the operation of a place that is no longer valid', async () => {
    const kept: unknown[] = [];
    world.driver.onCall = async (call) => {
      if (call !== 'provision') return;
      const { uid = '' } = (await world.volume())?.metadata ?? {};
      const record = await world.store.get(effectRecords, { name: uid });
      kept.push(record?.effects['driver provision']);
    };
    world.driver.slow = { provision: 1 };
    await world.createVolume();
    world.driver.failsOn = { delete: 'InvalidParameters' };
    await setType('second');
    await world.clock.advance(60_000);
    expect(await world.volume()).to.include({ status: 'Available' });
    expect(kept).to.deep.equal([undefined, undefined]);
  });

  it('is not started again for each copy of a sealed literal, but for another literal', async () => {
    const seal = (text: string): string =>
      world.sealer.seal(text, { holder: holderOf(storageClasses, { name: 'c' }), key: 'token' });
    await setParameters({ token: seal('a') });
    world.driver.failsOn = { provision: 'Throttled' };
    await world.createVolume();
    await world.clock.advance(3_000);
    expect(world.driver.calls).not.to.contain('delete');
    expect(world.driver.calls.length).to.be.within(2, 5);
    world.driver.failsOn = {};
    await setParameters({ token: seal('b') });
    await world.clock.advance(60_000);
    expect(await world.volume()).to.include({ status: 'Available' });
    expect(world.driver.tokenOf('provision')).to.equal('b');
  });

  it('is started again once for parameters that differ at each reading, and retried with backoff', async () => {
    let reads = 0;
    world.driver.configured = () => ({ endpoint: `e${++reads}` });
    world.driver.failsOn = { provision: 'Throttled' };
    await world.createVolume();
    await world.clock.advance(3_000);
    expect(world.driver.calls.filter((call) => call === 'delete')).to.have.length(1);
    expect(world.driver.calls.length).to.be.within(2, 6);
    world.driver.failsOn = {};
    await world.clock.advance(60_000);
    expect(await world.volume()).to.include({ status: 'Available' });
  });

  it('is started again once by each process for parameters that differ at each reading, and provisioned by the last', async () => {
    let reads = 0;
    world.driver.configured = () => ({ endpoint: `e${++reads}` });
    world.driver.failsOn = { provision: 'Throttled' };
    await world.createVolume();
    const processes = 4;
    for (let n = 1; n < processes; n += 1) {
      await world.clock.advance(3_000);
      await world.restart();
    }
    await world.clock.advance(60_000);
    const deletions = (): number => world.driver.calls.filter((call) => call === 'delete').length;
    expect(deletions()).to.equal(processes);
    expect(world.driver.calls.length).to.be.below(12 * processes);
    world.driver.failsOn = {};
    await world.clock.advance(60_000);
    expect(await world.volume()).to.include({ status: 'Available' });
    expect(deletions()).to.equal(processes);
  });

  it('that fails permanently with such parameters is not retried before the next check', async () => {
    let reads = 0;
    world.driver.configured = () => ({ endpoint: `e${++reads}` });
    world.driver.failsOn = { provision: 'InvalidParameters' };
    await world.createVolume();
    await world.clock.advance(60_000);
    expect(await world.volume()).to.include({ status: 'Failed' });
    const before = world.driver.calls.length;
    expect(before).to.be.below(5);
    await world.clock.advance(60_000);
    expect(world.driver.calls).to.have.length(before);
  });
});

describe('the part of a node, for a volume whose class changes after an attempt to provision it', () => {
  it('provisions it with the values that it was given', async () => {
    const world = await StorageWorld.start({ part: 'node' });
    world.driver.topologyKeys = ['svc.io/node'];
    await world.createVolume();
    const given = { topology: { 'svc.io/node': 'n' }, driverParameters: { type: 'first' } };
    const status = { ...given, driver: 'played' };
    await reachState(world.store, volumes, key, 'Provisioning', status);
    await settle();
    expect(world.driver.calls).to.deep.equal(['provision']);
    expect(await world.volume()).to.include({ status: 'Available' });
    await world.stop();
  });
});

describe('the operations of an attempt', () => {
  it('are open after the start of a creation or a restore, and are all cleared where nothing is left', async () => {
    const kept = new Map<string, string>();
    const operations = {
      get: (kind: string) => Promise.resolve(kept.get(kind)),
      set: (kind: string, id: string) => Promise.resolve(void kept.set(kind, id)),
      clear: (kind: string) => Promise.resolve(void kept.delete(kind)),
    };
    for (const kind of ['provision', 'restore']) {
      expect(await isCreationOpen(operations)).to.equal(false);
      kept.set(kind, 'id');
      expect(await isCreationOpen(operations), kind).to.equal(true);
      kept.clear();
    }
    for (const kind of ['provision', 'restore', 'delete', 'attach']) kept.set(kind, 'id');
    await clearAttempt(operations);
    expect([...kept.keys()]).to.deep.equal(['attach']);
  });
});
