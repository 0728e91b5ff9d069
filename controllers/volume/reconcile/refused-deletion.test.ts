import { expect } from 'chai';
import { modify } from 'kedge';
import { RecordingLogger, settle } from 'kedge/testing';
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

  it('says how to correct it, and how to remove it without a deletion', async () => {
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

  it('is removed without a deletion once its policy is retain, and a log line says so', async () => {
    await failed();
    await retain();
    expect(await world.volume()).to.equal(undefined);
    const line = logger.lines.find(({ message }) => message.includes('without a deletion'));
    expect(line?.fields).to.include({ volume: 'default/v' });
  });

  it('is removed after one refusal if its policy was retain from the start', async () => {
    await world.createVolume({ reclaimPolicy: 'retain' });
    await world.deleteVolume();
    expect(await world.volume()).to.equal(undefined);
    expect(deletions()).to.equal(1);
  });

  it('waits for its secret under any policy: its driver was not asked', async () => {
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

  it('keeps what its provider has of it under retain, and removes the object', async () => {
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

  it('stays under the policy retain of its class if a creation may have made something, until its own is retain', async () => {
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
});
