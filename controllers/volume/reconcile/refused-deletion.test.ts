import { expect } from 'chai';
import { modify } from 'kedge';
import { reachState, RecordingLogger, settle } from 'kedge/testing';
import { nodes } from '../../node/kind.js';
import { storageClasses } from '../../storage-class/kind.js';
import { StorageWorld } from '../../testing/storage-world.js';
import { type Volume, volumes } from '../kind.js';

const key = { namespace: 'default', name: 'v' };

describe('a deleted volume whose parameters the driver refuses, also for its deletion', () => {
  let world: StorageWorld;
  let logger: RecordingLogger;
  beforeEach(async () => {
    logger = new RecordingLogger();
    world = await StorageWorld.start({ logger });
    await setClass({ type: 'first' });
    world.driver.failsOn = { provision: 'InvalidParameters', delete: 'InvalidParameters' };
  });
  afterEach(() => world.stop());

  const setClass = async (parameters: Record<string, string>): Promise<void> => {
    const change = (found: object) => ({ ...found, parameters });
    await modify(world.store, storageClasses, { name: 'c' }, change as never);
    await settle();
  };
  const retain = async (): Promise<void> => {
    const reclaimPolicy = 'retain' as const;
    await modify(world.store, volumes, key, (found) => ({ ...found, reclaimPolicy }));
    await settle();
  };
  const failed = async (more: Partial<Volume> = {}): Promise<void> => {
    await world.createVolume(more);
    await world.deleteVolume();
    await world.clock.advance(3_600_000);
  };
  const deletions = (): number => world.driver.calls.filter((call) => call === 'delete').length;

  it('reports how to correct it, and how to remove it without a deletion', async () => {
    await failed();
    const found = await world.volume();
    expect(found).to.include({ status: 'Failed', reason: 'InvalidParameters' });
    expect(found?.failureMessage).to.contain(
      'correct the parameters of storage class "c" or of the volume, and the deletion continues, or set reclaimPolicy to retain to remove the object without a deletion',
    );
  });

  it('is deleted at once where its class is corrected, with the new parameters', async () => {
    await failed();
    const before = deletions();
    world.driver.refusesType = 'first';
    world.driver.failsOn = {};
    await setClass({ type: 'second' });
    expect(await world.volume()).to.equal(undefined);
    expect(deletions() - before).to.equal(2);
  });

  it('stays while the driver refuses the corrected parameters as well, or a call fails for another reason', async () => {
    await failed();
    await setClass({ type: 'second' });
    expect(await world.volume()).to.include({ status: 'Failed' });
    world.driver.failsOn = { delete: 'Unavailable' };
    await retain();
    await world.clock.advance(600_000);
    expect(await world.volume()).to.include({ status: 'Failed', reason: 'Unavailable' });
  });

  it('is removed without a deletion once its policy is retain, which a log line reports', async () => {
    await failed();
    await retain();
    expect(await world.volume()).to.equal(undefined);
    const line = logger.lines.find(({ message }) => message.includes('without a deletion'));
    expect(line?.fields).to.include({ volume: 'default/v' });
  });

  it('is removed with a rejected credential too, if the policy of the volume itself is retain', async () => {
    for (const kind of ['CredentialsRejected', 'PermissionDenied'] as const) {
      world.driver.failsOn = { provision: kind, delete: kind };
      await failed();
      expect(await world.volume()).to.include({ status: 'Failed', reason: kind });
      await retain();
      expect(await world.volume(), kind).to.equal(undefined);
    }
  });

  it('is removed without a credential too, which no call can be sent with', async () => {
    world.driver.failsOn = { provision: 'Unavailable', delete: 'Unavailable' };
    await failed();
    world.driver.failsWith = 'the class has no accessKeyId, and nothing answers';
    await world.clock.advance(3_600_000);
    expect(await world.volume()).to.include({ status: 'Failed', reason: 'Unavailable' });
    await retain();
    expect(await world.volume()).to.equal(undefined);
  });

  it('stays with a rejected credential if only the policy of its class is retain', async () => {
    const change = (found: object) => ({ ...found, reclaimPolicy: 'retain' });
    await modify(world.store, storageClasses, { name: 'c' }, change as never);
    world.driver.failsOn = { provision: 'CredentialsRejected', delete: 'CredentialsRejected' };
    await failed();
    expect(await world.volume()).to.include({ status: 'Failed', reason: 'CredentialsRejected' });
  });

  it('is removed after one refusal if its policy was retain from the start', async () => {
    await world.createVolume({ reclaimPolicy: 'retain' });
    await world.deleteVolume();
    expect(await world.volume()).to.equal(undefined);
    expect(deletions()).to.equal(1);
  });

  it('waits for its secret under any policy: its driver was not called', async () => {
    await world.writeSecret('token', 'right');
    await world.createVolume({
      reclaimPolicy: 'retain',
      parameters: { token: 'secret:token/key' },
    });
    await world.deleteSecret('token');
    const before = world.driver.calls.length;
    await world.deleteVolume();
    await world.clock.advance(600_000);
    const found = await world.volume();
    expect(found).to.include({ status: 'Failed' });
    expect(found?.failureMessage).to.not.contain('retain');
    expect(world.driver.calls).to.have.length(before);
    await world.writeSecret('token', 'other');
    expect(await world.volume()).to.equal(undefined);
  });

  it('keeps its resource at the provider under retain, and removes the object', async () => {
    world.driver.failsOn = {};
    await world.createVolume();
    world.driver.failsOn = { delete: 'InvalidParameters' };
    await world.deleteVolume();
    await world.clock.advance(600_000);
    expect((await world.volume())?.failureMessage).to.contain('set reclaimPolicy to retain');
    const before = deletions();
    await retain();
    expect(await world.volume()).to.equal(undefined);
    expect(deletions()).to.equal(before);
    expect(world.driver.made.size).to.equal(1);
  });

  it('stays under the policy retain of its class if a creation may have succeeded, until its own is retain', async () => {
    const retained = { reclaimPolicy: 'retain' as const };
    await modify(world.store, storageClasses, { name: 'c' }, (found) => ({
      ...found,
      ...retained,
    }));
    await settle();
    world.driver.failsOn = {};
    world.driver.slow = { provision: 1_000 };
    await world.createVolume();
    world.driver.failsOn = { provision: 'InvalidParameters', delete: 'InvalidParameters' };
    await world.deleteVolume();
    await world.clock.advance(600_000);
    const found = await world.volume();
    expect(found).to.include({ status: 'Failed', effectiveReclaimPolicy: 'retain' });
    expect(found?.failureMessage).to.contain('or set reclaimPolicy to retain');
    await retain();
    expect(await world.volume()).to.equal(undefined);
  });

  it('is removed under retain if it was deleted during its creation, and has a handle', async () => {
    world.driver.failsOn = {};
    world.driver.slow = { provision: 2 };
    await world.createVolume();
    world.driver.failsOn = { delete: 'InvalidParameters' };
    await world.deleteVolume();
    await world.clock.advance(600_000);
    const found = await world.volume();
    expect(found).to.include({ status: 'Failed', handle: 'h', neverUsed: true });
    expect(found?.failureMessage).to.contain('or set reclaimPolicy to retain');
    await retain();
    expect(await world.volume()).to.equal(undefined);
    expect(world.driver.made.size).to.equal(1);
  });

  it('stays after it was found and its parameters were refused then: it is not in the place of the corrected ones', async () => {
    await world.createVolume();
    world.driver.failsOn = {};
    world.driver.slow = { delete: 1 };
    await world.deleteVolume();
    expect(await world.volume()).to.not.equal(undefined);
    world.driver.refusesType = 'first';
    await setClass({ type: 'second' });
    await world.clock.advance(600_000);
    const found = await world.volume();
    expect(found).to.include({ status: 'Failed', reason: 'InvalidParameters' });
    expect(found?.failureMessage).to.contain(
      'something of it may be where the earlier parameters say, so the present ones do not end the deletion; set reclaimPolicy to retain',
    );
    expect(world.driver.tokens.at(-1)?.[0]).to.equal('delete');
    await retain();
    expect(await world.volume()).to.equal(undefined);
  });
});

describe('a deleted volume without a use whose node refuses its parameters', () => {
  let world: StorageWorld;
  beforeEach(async () => {
    world = await StorageWorld.start();
    world.driver.topologyKeys = ['svc.io/node'];
    await world.store.create(nodes, { name: 'far' });
    await world.store.updateStatus(nodes, { name: 'far' }, { status: 'Ready' });
    await settle();
  });
  afterEach(() => world.stop());

  const createClass = async (reclaimPolicy: 'retain' | 'delete'): Promise<void> => {
    const allowedTopologies = [{ matchLabels: { 'svc.io/node': 'far' } }];
    const form = { name: 'far', driver: 'played', reclaimPolicy, allowedTopologies };
    await world.store.create(storageClasses, form);
    await world.createVolume({ storageClassName: 'far' });
  };
  const written = async (status: object): Promise<void> => {
    await world.store.updateStatus(volumes, key, status);
    await settle();
  };
  /** The node's report of a call after the request for it. */
  const refused = async (): Promise<void> => {
    const asked = (await world.volume())?.dataDeletion?.askedAt ?? '';
    const call = { call: 'delete', startedAt: asked, message: 'no such place', nextTryAt: '' };
    await written({ lastOperation: { ...call, outcome: 'InvalidParameters' } });
  };
  const retain = async (): Promise<void> => {
    const reclaimPolicy = 'retain' as const;
    await modify(world.store, volumes, key, (found) => ({ ...found, reclaimPolicy }));
    await settle();
  };
  /** Deletes it after a failed creation, or after one that was completed meanwhile. */
  const remove = async (made: object = {}): Promise<void> => {
    await written({ status: 'Failed', ...made });
    await world.deleteVolume();
    expect((await world.volume())?.dataDeletion?.askedAt).to.not.equal(undefined);
  };

  it('is removed once its policy is retain', async () => {
    await createClass('delete');
    await remove();
    await refused();
    expect(await world.volume()).to.include({ name: 'v' });
    await retain();
    expect(await world.volume()).to.equal(undefined);
    expect(world.driver.calls).to.deep.equal([]);
  });

  it('is removed at the refusal if its class retains, and not before', async () => {
    await createClass('retain');
    await remove();
    await world.clock.advance(600_000);
    expect(await world.volume()).to.include({ name: 'v' });
    await refused();
    expect(await world.volume()).to.equal(undefined);
  });

  it('is removed if it was deleted during its creation, only under its own retain', async () => {
    await createClass('retain');
    await remove({ handle: 'h', neverUsed: true });
    await refused();
    expect(await world.volume()).to.include({ name: 'v' });
    await retain();
    expect(await world.volume()).to.equal(undefined);
  });

  it('stays after another error of its node', async () => {
    await createClass('delete');
    await remove();
    await retain();
    await world.clock.advance(600_000);
    expect(await world.volume()).to.include({ name: 'v' });
  });
});

describe('the part of a node whose driver refuses the parameters of a deletion', () => {
  it('reports the policy that ends it', async () => {
    const world = await StorageWorld.start({ part: 'node' });
    world.driver.topologyKeys = ['svc.io/node'];
    world.driver.failsOn = { delete: 'InvalidParameters' };
    await world.createVolume();
    const status = { driver: 'played', topology: { 'svc.io/node': 'n' } };
    await reachState(world.store, volumes, key, 'Failed', status);
    await world.deleteVolume();
    const { generation } = (await world.volume())!.metadata;
    const dataDeletion = { askedAt: '2000-01-01T00:00:00.000Z', generation };
    await world.store.updateStatus(volumes, key, { dataDeletion });
    await settle();
    expect((await world.volume())?.failureMessage).to.contain('or set reclaimPolicy to retain');
    await world.stop();
  });
});
