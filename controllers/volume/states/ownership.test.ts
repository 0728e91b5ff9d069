import { expect } from 'chai';
import { findCondition, type Operation, type StatusUpdate } from 'kedge';
import { settle } from 'kedge/testing';
import { nodes } from '../../node/kind.js';
import { type Snapshot, snapshots } from '../../snapshot/kind.js';
import { storageClasses } from '../../storage-class/kind.js';
import { type Attachment, type Volume, volumes } from '../kind.js';
import { snapshotFinalizer } from '../../snapshot/index.js';
import { overtakenStore, type OvertakenStore } from '../../testing/overtaken-store.js';
import { StorageWorld } from '../../testing/storage-world.js';

const key = { namespace: 'default', name: 'v' };
const snapshotKey = { namespace: 'default', name: 's' };
const away: Attachment = { claim: 'default/x-0', node: 'far', state: 'Attached' };

describe('a volume that another node owns', () => {
  let world: StorageWorld;
  let race: OvertakenStore;

  beforeEach(async () => {
    world = await StorageWorld.start({
      seenBy: (store) => {
        race = overtakenStore(store);
        return race.store;
      },
    });
    await world.store.create(storageClasses, {
      name: 'far',
      driver: 'played',
      reclaimPolicy: 'delete',
      allowedTopologies: [{ matchLabels: { 'svc.io/node': 'far' } }],
    });
    await world.store.create(nodes, { name: 'far' });
    await report('Ready');
  });
  afterEach(() => world.stop());

  async function report(status: 'Ready' | 'NotReady'): Promise<void> {
    await world.store.updateStatus(nodes, { name: 'far' }, { status });
    await settle();
  }
  async function written(
    status: StatusUpdate<Volume, (typeof volumes.statusFields)[number]>,
  ): Promise<void> {
    await world.store.updateStatus(volumes, key, status);
    await settle();
  }
  const volume = async (): Promise<Volume> => (await world.volume()) ?? expect.fail('it is gone');
  const snapshot = async (): Promise<Snapshot> =>
    (await world.store.get(snapshots, snapshotKey)) ?? expect.fail('it is gone');
  async function conditionOf(type: string): Promise<readonly unknown[]> {
    const found = findCondition((await volume()).conditions, type);
    return [found?.status, found?.reason, found?.message];
  }
  /** Checks that an hour passes without a write and without a call of the driver. */
  async function waits(): Promise<void> {
    const calls = [...world.driver.calls];
    const { commits } = race;
    await world.clock.advance(3_600_000);
    expect(world.driver.calls).to.deep.equal(calls);
    expect(race.commits, 'writes while it waits').to.equal(commits);
  }
  /** Creates a volume that node `far` has provisioned. */
  async function placed(): Promise<void> {
    world.driver.topologyKeys = ['svc.io/node'];
    await world.createVolume({ storageClassName: 'far' });
    await written({ status: 'Available', handle: 'h', sizeBytes: String(1024 ** 3) });
  }
  async function grow(size: string): Promise<void> {
    await world.store.update(volumes, { ...(await volume()), size });
    await settle();
  }
  async function copy(): Promise<void> {
    await world.store.create(snapshots, {
      ...snapshotKey,
      source: { volume: 'v' },
      metadata: { finalizers: [snapshotFinalizer] },
    });
    await settle();
  }

  it('is not provisioned here: its node gets a request with all inputs, whose end is awaited', async () => {
    world.driver.topologyKeys = ['svc.io/node'];
    await world.createVolume({ storageClassName: 'far', parameters: { token: 't' } });
    expect(await volume()).to.deep.include({
      status: 'Provisioning',
      topology: { 'svc.io/node': 'far' },
      driver: 'played',
      driverParameters: { token: 't' },
      effectiveReclaimPolicy: 'delete',
    });
    const message = 'waits for node "far", which has its data';
    expect(await conditionOf('Provisioned')).to.deep.equal(['False', 'WaitsForNode', message]);
    await waits();
    await report('NotReady');
    const silent = `${message}; the node is NotReady: start kedged on it; if the node is gone permanently: kedge delete node far`;
    expect(await conditionOf('Provisioned')).to.deep.equal(['False', 'WaitsForNode', silent]);
    await waits();
    await report('Ready');
    expect(await conditionOf('Provisioned')).to.deep.equal(['False', 'WaitsForNode', message]);
    expect(world.driver.calls).to.deep.equal([]);
  });

  it('is not retried when its node reported a failure, until an input changes', async () => {
    world.driver.topologyKeys = ['svc.io/node'];
    await world.createVolume({ storageClassName: 'far' });
    await written({ status: 'Failed', reason: 'InvalidParameters', failureMessage: 'no' });
    expect((await volume()).status).to.equal('Failed');
    const storageClass = await world.store.get(storageClasses, { name: 'far' });
    await world.store.update(storageClasses, { ...storageClass!, parameters: { token: 'new' } });
    await settle();
    expect(await volume()).to.deep.include({
      status: 'Provisioning',
      driverParameters: { token: 'new' },
    });
    expect(world.driver.calls).to.deep.equal([]);
  });

  it('is expanded and deleted by its node: the object is removed when the node reports the deletion', async () => {
    await placed();
    await grow('2Gi');
    expect((await conditionOf('Resizing')).slice(0, 2)).to.deep.equal(['True', 'WaitsForNode']);
    await written({ sizeBytes: String(2 * 1024 ** 3) });
    await world.deleteVolume();
    await waits();
    const [status, reason] = await conditionOf('Deleted');
    expect([status, reason]).to.deep.equal(['False', 'WaitsForNode']);
    const { conditions = [] } = await volume();
    await written({
      conditions: conditions.map((c) =>
        c.type === 'Deleted' ? { ...c, status: 'True' as const } : c,
      ),
    });
    expect(await world.volume()).to.equal(undefined);
    expect(world.driver.calls).to.deep.equal([]);
  });

  it('is removed without its data if that is retained, and reports it while its node is silent', async () => {
    await placed();
    await report('NotReady');
    await world.deleteVolume();
    expect((await conditionOf('Deleted'))[2]).to.contain('or set reclaimPolicy to retain');
    await world.store.update(volumes, { ...(await volume()), reclaimPolicy: 'retain' });
    await settle();
    expect(await world.volume()).to.equal(undefined);
    expect(world.driver.calls).to.deep.equal([]);
  });

  it('without a handle is deleted once its node was removed from the cluster', async () => {
    world.driver.topologyKeys = ['svc.io/node'];
    await world.createVolume({ storageClassName: 'far' });
    await written({ status: 'Failed', reason: 'Internal', failureMessage: 'no' });
    await world.deleteVolume();
    await world.store.deleteByName(nodes, { name: 'far' });
    await settle();
    expect((await conditionOf('Deleted'))[2]).to.contain('the node is missing: start kedged on it');
    await world.clock.advance(70_000);
    expect(await world.volume()).to.equal(undefined);
    expect(world.driver.calls).to.deep.equal([]);
  });

  async function takeOut(): Promise<void> {
    await world.store.deleteByName(nodes, { name: 'far' });
    await settle();
    await world.clock.advance(70_000);
  }

  for (const status of ['Provisioning', 'Stalled'] as const)
    it(`in ${status} that is being deleted is removed once its node was removed from the cluster`, async () => {
      world.driver.topologyKeys = ['svc.io/node'];
      await world.createVolume({ storageClassName: 'far' });
      if (status === 'Stalled') await written({ status });
      await report('NotReady');
      await world.deleteVolume();
      await waits();
      await takeOut();
      expect(await world.volume()).to.equal(undefined);
      expect(world.driver.calls).to.deep.equal([]);
    });

  it('in Provisioning is provisioned elsewhere once its node was removed from the cluster, or reports why not', async () => {
    world.driver.topologyKeys = ['svc.io/node'];
    await world.createVolume({ storageClassName: 'far' });
    await takeOut();
    expect(await volume()).to.include({ status: 'Failed', reason: 'TopologyUnsatisfied' });
    expect((await volume()).failureMessage).to.contain('label a node, or widen allowedTopologies');
    await world.store.create(nodes, { name: 'n' });
    const storageClass = (await world.store.get(storageClasses, { name: 'far' }))!;
    await world.store.update(storageClasses, { ...storageClass, allowedTopologies: [] });
    await settle();
    expect(await volume()).to.deep.include({
      status: 'Available',
      topology: { 'svc.io/node': 'n' },
    });
  });

  it('in Provisioning waits for its node if that is recreated right before the volume fails', async () => {
    world.driver.topologyKeys = ['svc.io/node'];
    await world.createVolume({ storageClassName: 'far' });
    const isOfVolume = (operation: Operation): boolean =>
      operation.op === 'updateStatus' && 'failedWith' in operation.status;
    let begunAgain = false;
    race.overtake(isOfVolume, () => {
      race.overtake(isOfVolume, () => Promise.resolve((begunAgain = true)));
      return world.store.create(nodes, { name: 'far' });
    });
    await takeOut();
    await report('Ready');
    expect(await world.store.get(nodes, { name: 'far' }), 'it was recreated').to.be.an('object');
    expect(await volume()).to.include({ status: 'Provisioning' });
    expect(begunAgain).to.equal(false);
  });

  it('is not copied any more once its node was removed from the cluster: the copy reports it, and it can be deleted', async () => {
    await placed();
    await report('NotReady');
    await copy();
    expect((await snapshot()).status).to.equal('Creating');
    await takeOut();
    expect(await snapshot()).to.include({ status: 'Failed', reason: 'NodeGone' });
    expect((await snapshot()).failureMessage).to.contain('kedge snapshot retry s -n default');
    expect((await volume()).snapshotsInFlight).to.deep.equal([]);
    await world.store.deleteByName(snapshots, snapshotKey);
    await settle();
    expect(await world.store.get(snapshots, snapshotKey)).to.equal(undefined);
    expect(world.driver.calls).to.deep.equal([]);
  });

  it('has snapshots that are removed without their data once its node was removed from the cluster, and not before', async () => {
    await placed();
    await copy();
    await world.store.updateStatus(snapshots, snapshotKey, { status: 'Ready', handle: 's' });
    await settle();
    await report('NotReady');
    await world.store.deleteByName(snapshots, snapshotKey);
    await settle();
    await waits();
    const deleted = findCondition((await snapshot()).conditions, 'Deleted');
    expect(deleted?.message).to.contain('if the node is gone permanently: kedge delete node far');
    await takeOut();
    expect(await world.store.get(snapshots, snapshotKey)).to.equal(undefined);
    expect(world.driver.calls).to.deep.equal([]);
  });

  it('is force-detached from its node only while that is silent, and without a driver call', async () => {
    await placed();
    await written({ status: 'Bound', attachments: [{ ...away, state: 'Detaching' }] });
    await waits();
    expect((await volume()).attachments).to.have.length(1);
    await report('NotReady');
    expect(await volume()).to.deep.include({ status: 'Available', attachments: [] });
    expect(world.driver.calls).to.deep.equal([]);
  });

  it('keeps the failure that its node reports, and does not trigger the node', async () => {
    world.driver.topologyKeys = ['svc.io/node'];
    await world.createVolume({ storageClassName: 'far' });
    const { conditions = [] } = await volume();
    const failed = { status: 'False', reason: 'Throttled', message: 'later' } as const;
    const { commits } = race;
    await written({ attempts: 1, conditions: conditions.map((c) => ({ ...c, ...failed })) });
    expect(race.commits).to.equal(commits);
    expect((await conditionOf('Provisioned')).slice(1)).to.deep.equal(['Throttled', 'later']);
  });

  it('is not force-detached from a node that answers again right before that', async () => {
    await placed();
    await report('NotReady');
    race.overtake(
      (operation) => operation.op === 'updateStatus' && 'attachments' in operation.status,
      () => world.store.updateStatus(nodes, { name: 'far' }, { status: 'Ready' }),
    );
    await written({ status: 'Bound', attachments: [{ ...away, state: 'Detaching' }] });
    await world.clock.advance(10_000);
    expect((await volume()).attachments).to.have.length(1);
  });

  it('is neither expanded nor copied here while it is attached there, and is both once it is detached', async () => {
    await world.createVolume();
    await written({ status: 'Bound', attachments: [away], boundNode: 'far' });
    const before = [...world.driver.calls];
    await grow('2Gi');
    await copy();
    const message =
      'waits for node "far", which has it attached; it continues once the volume is detached there';
    expect(await conditionOf('Resizing')).to.deep.equal(['True', 'WaitsForNode', message]);
    const ready = findCondition((await snapshot()).conditions, 'Ready');
    expect([ready?.reason, ready?.message]).to.deep.equal(['WaitsForNode', message]);
    expect((await snapshot()).status).to.equal('Pending');
    await waits();
    expect(world.driver.calls).to.deep.equal(before);
    await written({ status: 'Available', attachments: [], boundNode: '' });
    await world.clock.advance(10_000);
    expect(world.driver.calls.slice(before.length)).to.have.members(['expand', 'createSnapshot']);
    expect([(await volume()).sizeBytes, (await snapshot()).status]).to.deep.equal([
      '2147483648',
      'Ready',
    ]);
  });

  it('waits until none of several nodes executes a call for it', async () => {
    await world.createVolume();
    const other: Attachment = { claim: 'default/y-0', node: 'near', state: 'Reserved' };
    await written({ status: 'Bound', attachments: [away, other] });
    await grow('2Gi');
    expect((await conditionOf('Resizing'))[2]).to.equal(
      'waits for its nodes: default/y-0 on node "near" is Reserved',
    );
    await written({ attachments: [away, { ...other, state: 'Attached' }] });
    expect(world.driver.calls.filter((call) => call === 'expand')).to.have.length(1);
  });

  it('is copied by its node, and released when the node has ended the copy', async () => {
    await placed();
    await copy();
    const { uid } = (await snapshot()).metadata;
    expect(await snapshot()).to.deep.include({
      status: 'Creating',
      topology: { 'svc.io/node': 'far' },
    });
    expect((await volume()).snapshotsInFlight).to.deep.equal([uid]);
    await waits();
    await world.store.updateStatus(snapshots, snapshotKey, { status: 'Ready', handle: 's' });
    await settle();
    expect((await volume()).snapshotsInFlight).to.deep.equal([]);
    await world.store.deleteByName(volumes, key);
    await settle();
    await waits();
    expect(world.driver.calls).to.deep.equal([]);
  });

  it('is restored on the node of its snapshot', async () => {
    await placed();
    await copy();
    await world.store.updateStatus(snapshots, snapshotKey, { status: 'Ready', handle: 's' });
    await world.store.create(nodes, { name: 'n' });
    await world.createVolume({ name: 'w', source: { snapshot: 's' } });
    expect((await world.volume('w'))?.topology).to.deep.equal({ 'svc.io/node': 'far' });
    expect(world.driver.calls).to.deep.equal([]);
  });

  it('is not copied if it is reserved by a node right before the copy begins', async () => {
    await world.createVolume();
    const before = [...world.driver.calls];
    race.overtake(
      (operation) => operation.op === 'updateStatus' && operation.kind.kind === 'Snapshot',
      () => world.store.updateStatus(volumes, key, { attachments: [away], status: 'Bound' }),
    );
    await copy();
    await world.clock.advance(10_000);
    expect((await snapshot()).status).to.equal('Pending');
    expect(world.driver.calls).to.deep.equal(before);
  });
});
