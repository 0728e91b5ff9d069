import { expect } from 'chai';
import {
  findCondition,
  Manager,
  MemoryEngine,
  type ObjectStore,
  openStore,
  seededRandom,
  silentLogger,
} from 'kedge';
import { FakeClock, reachState, settle } from 'kedge/testing';
import { configmaps } from '../configmap/kind.js';
import { instances } from '../instance/kind.js';
import { secrets } from '../secret/kind.js';
import { services } from '../service/kind.js';
import { snapshots } from '../snapshot/kind.js';
import { type Volume, volumes } from '../volume/kind.js';
import { type Namespace, namespaces } from './kind.js';
import { defaultPolicy } from '../policy/policy.js';
import { type OvertakenStore, overtakenStore } from '../testing/overtaken-store.js';
import { volumeFinalizer } from '../volume/index.js';
import { namespaceFinalizer } from './admission.js';
import { namespaceController } from './controller.js';

const key = { namespace: 'shop', name: 'v' };
const attachments = [{ claim: 'till/web-0', node: 'n', state: 'Attached' as const }];

describe('a namespace that is being deleted', () => {
  let clock: FakeClock;
  let store: ObjectStore;
  let raced: OvertakenStore;
  let manager: Manager;

  beforeEach(async () => {
    clock = new FakeClock();
    const random = seededRandom(1);
    store = await openStore({ engine: new MemoryEngine(), clock });
    manager = new Manager({ store, clock, random });
    raced = overtakenStore(store);
    const ports = { store: raced.store, manager, clock, random, logger: silentLogger };
    manager.addController(namespaceController({ ...ports, policy: defaultPolicy }));
    const metadata = { finalizers: [namespaceFinalizer] };
    await store.create(namespaces, { name: 'shop', metadata });
    await manager.start();
  });
  afterEach(async () => {
    const stopping = manager.stop(0);
    await clock.advance(10_000);
    await stopping;
    await store.close();
  });

  const createVolume = async (
    { status = 'Pending', ...fields }: Partial<Volume>,
    name = 'v',
  ): Promise<void> => {
    await store.create(volumes, {
      namespace: 'shop',
      name,
      storageClassName: 'c',
      size: '1Gi',
      accessMode: 'ReadWriteOnce',
      ...fields,
      metadata: { finalizers: [volumeFinalizer] },
    });
    await reachState(store, volumes, { namespace: 'shop', name }, status);
  };
  const deleteNamespace = async (): Promise<void> => {
    await store.deleteByName(namespaces, { name: 'shop' });
    await settle();
  };
  const namespace = async (): Promise<Namespace | undefined> =>
    store.get(namespaces, { name: 'shop' });
  const remaining = async () => findCondition((await namespace())?.conditions, 'ContentRemaining');
  const finish = async (name = 'v'): Promise<void> => {
    const current = await store.get(volumes, { namespace: 'shop', name });
    await store.update(volumes, {
      ...current!,
      metadata: { ...current!.metadata, finalizers: [] },
    });
    await settle();
  };

  it('does not delete a volume that is bound from another namespace, and reports its user', async () => {
    await createVolume({ status: 'Bound', boundClaim: 'till/web-0', attachments });
    await store.create(secrets, { namespace: 'shop', name: 's', data: {} });
    await deleteNamespace();
    const volume = await store.get(volumes, key);
    expect(volume?.metadata.deletionRequestedAt).to.equal(undefined);
    expect(await remaining()).to.include({
      status: 'True',
      reason: 'InUse',
      message:
        'waits for the deletion of its objects: volume "shop/v" is bound to till/web-0; delete the service or scale it down first',
    });
    expect(await store.get(secrets, { namespace: 'shop', name: 's' }), 'its secret').to.not.equal(
      undefined,
    );
  });

  it('does not delete a volume that is only reserved so far', async () => {
    const [attachment] = attachments;
    await createVolume({
      status: 'Available',
      attachments: [{ ...attachment!, state: 'Reserved' }],
    });
    await deleteNamespace();
    expect((await store.get(volumes, key))?.metadata.deletionRequestedAt).to.equal(undefined);
  });

  it('does not delete a snapshot from which a volume of another namespace waits to be restored', async () => {
    const source = { namespace: 'shop', name: 's' };
    await store.create(snapshots, { ...source, source: { volume: 'v' } });
    const copy = { namespace: 'till', name: 'copy' };
    await store.create(volumes, {
      ...copy,
      storageClassName: 'c',
      size: '1Gi',
      accessMode: 'ReadWriteOnce',
      source: { snapshot: 's.shop.svc' },
    });
    await deleteNamespace();
    expect(await store.get(snapshots, source)).to.not.equal(undefined);
    expect(await remaining()).to.include({
      reason: 'InUse',
      message:
        'waits for the deletion of its objects: snapshot "shop/s" is the source of volume "till/copy", which is not provisioned yet; wait until the volume is provisioned, or delete it first',
    });
    await store.updateStatus(volumes, copy, { status: 'Provisioning' });
    await settle();
    expect(await store.get(snapshots, source)).to.equal(undefined);
    expect(await namespace()).to.equal(undefined);
  });

  it('continues immediately when the volume is released, and is removed once it is empty', async () => {
    await createVolume({ status: 'Bound', boundClaim: 'till/web-0', attachments });
    await store.create(secrets, { namespace: 'shop', name: 's', data: {} });
    await store.create(configmaps, { namespace: 'shop', name: 'c', data: {} });
    await deleteNamespace();
    await store.updateStatus(volumes, key, {
      status: 'Available',
      boundClaim: '',
      attachments: [],
    });
    await settle();
    expect((await store.get(volumes, key))?.metadata.deletionRequestedAt).to.be.a('string');
    expect(await remaining()).to.include({ reason: 'Finalizing' });
    await finish();
    expect(await namespace()).to.equal(undefined);
    expect((await store.list(secrets, { namespace: 'shop' })).items).to.deep.equal([]);
  });

  it('names what a deletion inside it waits for', async () => {
    const failureMessage = 'secret shop/token does not exist; create it';
    await createVolume({ status: 'Failed', failureMessage });
    for (const name of ['a', 'b', 'c']) await createVolume({ status: 'Available' }, name);
    await deleteNamespace();
    await settle();
    const remainder = await remaining();
    expect(remainder?.message).to.contain('and 1 more');
    for (const name of ['a', 'b', 'c']) await finish(name);
    expect((await remaining())?.message).to.equal(
      `waits for the deletion of its objects: Volume "v" is Failed: ${failureMessage}`,
    );
  });

  it('names what the deletion of a volume in it waits for, with the remedy', async () => {
    const message = 'waits for node "far", which has its data; or set reclaimPolicy to retain';
    const condition = {
      type: 'Deleted',
      status: 'False',
      reason: 'WaitsForNode',
      message,
    } as const;
    const conditions = [{ ...condition, lastTransitionAt: '2026-01-01T00:00:00Z' }];
    await createVolume({ status: 'Available', conditions });
    const call = { call: 'observe', startedAt: '2026-01-01T00:00:00Z', nextTryAt: '' };
    const lastOperation = { ...call, outcome: 'Internal', message: 'the disk does not answer' };
    await createVolume({ status: 'Available', conditions, lastOperation }, 'w');
    await deleteNamespace();
    const text = (await remaining())?.message;
    expect(text).to.contain(`Volume "v" is Available: ${message}`);
    expect(text).to.contain(`Volume "w" is Available: ${message}; the disk does not answer`);
  });

  it('is kept while an object is created in it at the same time, and deletes that too', async () => {
    raced.overtake(
      ({ op }) => op === 'update',
      () => createVolume({ status: 'Available' }),
    );
    await deleteNamespace();
    expect(await remaining()).to.include({ reason: 'Finalizing' });
    expect((await store.get(volumes, key))?.metadata.deletionRequestedAt).to.be.a('string');
    await finish();
    expect(await namespace()).to.equal(undefined);
  });

  it('does not delete objects of a namespace that was recreated under the name meanwhile', async () => {
    const settings = { namespace: 'shop', name: 'settings' };
    await store.create(configmaps, { ...settings, data: { of: 'the first' } });
    let uid: string | undefined;
    raced.overtake(
      ({ op }) => op === 'updateStatus',
      async () => {
        await store.deleteByName(configmaps, settings);
        const first = await store.updateStatus(
          namespaces,
          { name: 'shop' },
          { status: 'Terminating' },
        );
        await store.update(namespaces, {
          ...first,
          metadata: { ...first.metadata, finalizers: [] },
        });
        await store.create(namespaces, {
          name: 'shop',
          metadata: { finalizers: [namespaceFinalizer] },
        });
        const made = await store.create(configmaps, { ...settings, data: { of: 'the second' } });
        ({ uid } = made.metadata);
      },
    );
    await deleteNamespace();
    await clock.advance(60_000);
    expect(uid).to.be.a('string');
    expect(await store.get(configmaps, settings)).to.deep.include({ data: { of: 'the second' } });
    const second = await namespace();
    expect(second?.metadata).to.deep.include({ finalizers: [namespaceFinalizer] });
    expect(second?.metadata.deletionRequestedAt).to.equal(undefined);
    expect(second?.conditions, 'what the first waited for').to.equal(undefined);
  });

  it('does not delete a volume that is bound right before its deletion', async () => {
    await createVolume({ status: 'Available' });
    const bound = { status: 'Bound', boundClaim: 'till/web-0', attachments } as const;
    raced.overtake(
      ({ op }) => op === 'delete',
      () => store.updateStatus(volumes, key, bound),
    );
    await deleteNamespace();
    expect((await store.get(volumes, key))?.metadata.deletionRequestedAt).to.equal(undefined);
    expect(await remaining()).to.include({ reason: 'InUse' });
  });

  const held = { namespace: 'shop', name: 'x', metadata: { finalizers: ['test/held'] } };
  const size = { storageClassName: 'c', size: '1Gi', accessMode: 'ReadWriteOnce' } as const;
  const made: Readonly<Record<string, () => Promise<unknown>>> = {
    service: () => store.create(services, { ...held, runtime: 'process', command: ['/bin/true'] }),
    instance: () =>
      store.create(instances, {
        ...held,
        service: 's',
        ordinal: 0,
        template: { runtime: 'process' },
      }),
    volume: () => store.create(volumes, { ...held, ...size }),
    snapshot: () => store.create(snapshots, { ...held, source: { volume: 'v' } }),
    secret: () => store.create(secrets, { ...held, data: {} }),
    configmap: () => store.create(configmaps, { ...held, data: {} }),
  };
  for (const [what, make] of Object.entries(made))
    it(`stays while another ${what} is created in it at the same time`, async () => {
      raced.overtake(({ op }) => op === 'update', make);
      await deleteNamespace();
      expect(await remaining()).to.include({ status: 'True' });
    });

  it('waits without polling the store', async () => {
    await createVolume({ status: 'Bound', boundClaim: 'till/web-0', attachments });
    await deleteNamespace();
    const { metadata } = (await namespace())!;
    await clock.advance(10 * 60_000);
    expect((await namespace())?.metadata.resourceVersion).to.equal(metadata.resourceVersion);
  });
});
