import { expect } from 'chai';
import { findCondition, type StatusUpdate } from 'kedge';
import { reachState, settle } from 'kedge/testing';
import { nodes } from '../../node/kind.js';
import { storageClasses } from '../../storage-class/kind.js';
import { type Volume, volumes } from '../kind.js';
import { StorageWorld } from '../../testing/storage-world.js';
import { isDeletionUnderWay } from '../states/deletion-report.js';

const key = { namespace: 'default', name: 'v' };
const askedAt = '2000-01-01T00:00:00.000Z';

type Status = StatusUpdate<Volume, (typeof volumes.statusFields)[number]>;

let world: StorageWorld;
const volume = async (): Promise<Volume> => (await world.volume()) ?? expect.fail('it is gone');
const deletions = (): number => world.driver.calls.filter((call) => call === 'delete').length;
async function written(status: Status): Promise<void> {
  await world.store.updateStatus(volumes, key, status);
  await settle();
}
/** Makes later deletions by the driver never return. */
function hang(): void {
  world.driver.onCall = (call) =>
    call === 'delete' ? new Promise(() => undefined) : Promise.resolve();
}
/**
 * Kills the process that waits for a deletion. Returns whether the deletion of the data counts as under way after one
 * refusal to the next process, and after two.
 */
async function killed(): Promise<readonly [boolean, boolean]> {
  const before = deletions();
  world.driver.failsOn = { delete: 'PermissionDenied' };
  world.driver.onCall = undefined;
  await world.restartDuringCall();
  const after = async (count: number): Promise<boolean> => {
    for (let tries = 0; deletions() < before + count && tries < 1_000; tries += 1)
      await world.clock.advance(1_000);
    expect(deletions()).to.equal(before + count);
    return isDeletionUnderWay(await volume());
  };
  return [await after(1), await after(2)];
}
async function retain(): Promise<void> {
  await world.store.update(volumes, { ...(await volume()), reclaimPolicy: 'retain' });
  await settle();
}

describe('the part of a node, for a volume that is being deleted', () => {
  beforeEach(async () => {
    world = await StorageWorld.start({ part: 'node' });
    await world.createVolume({ reclaimPolicy: 'retain' });
    await reachState(world.store, volumes, key, 'Available', {
      driver: 'played',
      handle: 'h',
      sizeBytes: String(1024 ** 3),
      topology: { 'svc.io/node': 'n' },
      snapshotsInFlight: ['a-copy'],
    });
    await world.deleteVolume();
  });
  afterEach(() => world.stop());

  const asked = async (): Promise<Status> => {
    const { generation } = (await volume()).metadata;
    return { dataDeletion: { askedAt, generation } };
  };

  for (const reason of ['InUse', 'WaitsForNode', 'Internal'])
    it(`deletes no data because of a condition Deleted with the reason ${reason}, also when a copy ends`, async () => {
      const lastTransitionAt = askedAt;
      const condition = { type: 'Deleted', status: 'False', reason, message: '', lastTransitionAt };
      await written({ conditions: [condition as never] });
      await written({ snapshotsInFlight: [] });
      await world.clock.advance(3_600_000);
      expect(world.driver.calls).to.deep.equal([]);
    });

  it('deletes the data after a request, and again after its failure overwrote the condition', async () => {
    await written({ snapshotsInFlight: [] });
    world.driver.failsOn = { delete: 'Internal' };
    await written(await asked());
    expect(deletions()).to.equal(1);
    world.driver.failsOn = {};
    await world.clock.advance(10_000);
    expect(deletions()).to.equal(2);
    expect(findCondition((await volume()).conditions, 'Deleted')?.status).to.equal('True');
  });

  it('may be in deletion by a call of a process that was killed after one refusal, and not after a second', async () => {
    await written({ snapshotsInFlight: [] });
    hang();
    await written(await asked());
    expect(deletions()).to.equal(1);
    expect(await killed()).to.deep.equal([true, false]);
  });

  it('follows a changed policy again after refusals, also where the clock of the node is behind', async () => {
    await written({ snapshotsInFlight: [] });
    world.driver.failsOn = { delete: 'PermissionDenied' };
    const { generation } = (await volume()).metadata;
    await written({ dataDeletion: { askedAt: '2100-01-01T00:00:00.000Z', generation } });
    await world.clock.advance(3_600_000);
    expect(isDeletionUnderWay(await volume())).to.equal(false);
  });

  it('makes no further call after a change of the volume: the deletion is decided again', async () => {
    await written({ snapshotsInFlight: [] });
    world.driver.failsOn = { delete: 'PermissionDenied' };
    await written(await asked());
    expect(deletions()).to.equal(1);
    await world.store.update(volumes, { ...(await volume()), size: '2Gi' });
    await world.clock.advance(3_600_000);
    expect(deletions()).to.equal(1);
    expect((await volume()).lastOperation?.outcome).to.equal('PermissionDenied');
  });
});

describe('the data of a volume that is being deleted', () => {
  beforeEach(async () => {
    world = await StorageWorld.start();
  });
  afterEach(() => world.stop());

  it('has a deletion request before its driver is called', async () => {
    world.driver.failsOn = { delete: 'Timeout' };
    await world.createVolume();
    await world.deleteVolume();
    const found = await volume();
    expect(found.dataDeletion?.generation).to.equal(found.metadata.generation);
    expect(isDeletionUnderWay(found)).to.equal(true);
  });

  it('is deleted regardless of policy changes while a call may be in progress', async () => {
    world.driver.failsOn = { delete: 'Timeout' };
    await world.createVolume();
    await world.deleteVolume();
    world.driver.failsOn = {};
    await retain();
    await world.clock.advance(60_000);
    expect(await world.volume()).to.equal(undefined);
    expect(world.driver.made.size).to.equal(0);
  });

  it('follows a changed policy again after a call that certainly did nothing', async () => {
    world.driver.failsOn = { delete: 'PermissionDenied' };
    await world.createVolume();
    await world.deleteVolume();
    expect(isDeletionUnderWay(await volume())).to.equal(false);
    const calls = deletions();
    await retain();
    expect(await world.volume()).to.equal(undefined);
    expect(deletions()).to.equal(calls);
    expect(world.driver.made.size).to.equal(1);
  });

  it('does not follow a changed policy while the provider executes a call, and is deleted under a later retain', async () => {
    await world.createVolume();
    world.driver.slow = { delete: 1 };
    await world.deleteVolume();
    world.driver.failsOn = { delete: 'PermissionDenied' };
    await world.clock.advance(3_600_000);
    expect(isDeletionUnderWay(await volume())).to.equal(true);
    // As an earlier release permitted it.
    world.driver.failsOn = {};
    await retain();
    expect(await world.volume()).to.equal(undefined);
    expect(world.driver.made.size).to.equal(0);
  });

  it('may be in deletion by a call of unknown outcome after one refusal, and not after a second', async () => {
    world.driver.failsOn = { delete: 'Timeout' };
    await world.createVolume();
    await world.deleteVolume();
    world.driver.failsOn = { delete: 'PermissionDenied' };
    const after = async (calls: number): Promise<boolean> => {
      while (deletions() < calls) await world.clock.advance(1_000);
      return isDeletionUnderWay(await volume());
    };
    expect(await after(2)).to.equal(true);
    expect(await after(3)).to.equal(false);
  });

  it('may be in deletion by a call of a process that was killed after one refusal, and not after a second', async () => {
    await world.createVolume();
    hang();
    await world.deleteVolume();
    expect(deletions()).to.equal(1);
    expect(await killed()).to.deep.equal([true, false]);
  });

  it('may be in deletion by a call that was repeated after a refusal, in a process that was killed then', async () => {
    world.driver.failsOn = { delete: 'PermissionDenied' };
    await world.createVolume();
    await world.deleteVolume();
    hang();
    await world.clock.advance(10_000);
    expect(await killed()).to.deep.equal([true, false]);
  });

  it('may be in deletion while a call is repeated after one that did nothing', async () => {
    world.driver.failsOn = { delete: 'PermissionDenied' };
    await world.createVolume();
    await world.deleteVolume();
    let seen: boolean | undefined;
    world.driver.onCall = async (call) => {
      if (call === 'delete') seen = isDeletionUnderWay(await volume());
    };
    await world.clock.advance(10_000);
    expect(seen).to.equal(true);
  });
});

describe('the data of a volume on another node', () => {
  beforeEach(async () => {
    world = await StorageWorld.start();
    world.driver.topologyKeys = ['svc.io/node'];
    await world.store.create(storageClasses, {
      name: 'far',
      driver: 'played',
      reclaimPolicy: 'delete',
      allowedTopologies: [{ matchLabels: { 'svc.io/node': 'far' } }],
    });
    await world.store.create(nodes, { name: 'far' });
    await report('Ready');
    await world.createVolume({ storageClassName: 'far' });
    await written({ status: 'Available', handle: 'h', sizeBytes: String(1024 ** 3) });
  });
  afterEach(() => world.stop());

  async function report(status: 'Ready' | 'NotReady'): Promise<void> {
    await world.store.updateStatus(nodes, { name: 'far' }, { status });
    await settle();
  }
  const deletionMessage = async (): Promise<string> =>
    findCondition((await volume()).conditions, 'Deleted')?.message ?? '';

  it('gets no deletion request for a silent node, until it responds', async () => {
    await report('NotReady');
    await world.deleteVolume();
    expect((await volume()).dataDeletion).to.equal(undefined);
    expect(await deletionMessage()).to.contain('set reclaimPolicy to retain');
    await report('Ready');
    expect(isDeletionUnderWay(await volume())).to.equal(true);
  });

  it('may be in deletion on a silent node after a request: the policy decides again once the node is removed', async () => {
    await world.deleteVolume();
    await report('NotReady');
    expect(await deletionMessage())
      .to.contain('the node may already be deleting the data')
      .and.not.contain('retain');
    await world.store.deleteByName(nodes, { name: 'far' });
    await settle();
    await world.clock.advance(70_000);
    expect(await deletionMessage()).to.contain('set reclaimPolicy to retain');
    await retain();
    expect(await world.volume()).to.equal(undefined);
    expect(world.driver.calls).to.deep.equal([]);
  });

  it('is requested again after a change of the volume', async () => {
    await world.deleteVolume();
    await world.store.update(volumes, { ...(await volume()), parameters: { token: 't' } });
    await settle();
    const { dataDeletion, metadata } = await volume();
    expect(dataDeletion?.generation).to.equal(metadata.generation);
  });

  it('gets no deletion request while a copy of it is created', async () => {
    await written({ snapshotsInFlight: ['a-copy'] });
    await world.deleteVolume();
    expect(findCondition((await volume()).conditions, 'Deleted')?.reason).to.equal('InUse');
    expect((await volume()).dataDeletion).to.equal(undefined);
    await written({ snapshotsInFlight: [] });
    expect(isDeletionUnderWay(await volume())).to.equal(true);
  });
});
