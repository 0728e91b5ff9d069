import { randomBytes } from 'node:crypto';
import { expect } from 'chai';
import {
  Manager,
  MemoryEngine,
  type ObjectStore,
  openStore,
  seededRandom,
  silentLogger,
} from 'kedge';
import { FakeClock, reachState, settle } from 'kedge/testing';
import { type Instance, instances } from '../instance/kind.js';
import { nodes } from '../node/kind.js';
import { secrets } from '../secret/kind.js';
import { snapshots } from '../snapshot/kind.js';
import { volumes } from '../volume/kind.js';
import { services } from './kind.js';
import { agentFinalizer } from '../instance/index.js';
import { defaultPolicy } from '../policy/policy.js';
import { holderOf, parameterResolver, Sealer } from '../secret/index.js';
import { schedulerController } from '../scheduler/index.js';
import { type OvertakenStore, overtakenStore } from '../testing/overtaken-store.js';
import { serviceFinalizer } from './admission.js';
import { serviceController } from './controller.js';

const key = { namespace: 'default', name: 'db' };
const sealer = new Sealer(randomBytes(32));
const claimTemplate = { size: '1Gi', accessMode: 'ReadWriteOnce' } as const;

describe('a service and its instances', () => {
  let clock: FakeClock;
  /** The store of users and tests. Only commits through `raced` are counted or overtaken. */
  let store: ObjectStore;
  let raced: OvertakenStore;
  let manager: Manager;

  beforeEach(async () => {
    clock = new FakeClock();
    const random = seededRandom(1);
    store = await openStore({ engine: new MemoryEngine(), clock });
    raced = overtakenStore(store);
    manager = new Manager({ store, clock, random });
    const lister = manager.informer(secrets).lister;
    const resolver = parameterResolver(lister, sealer);
    const ports = {
      manager,
      clock,
      random,
      logger: silentLogger,
      policy: defaultPolicy,
      resolver,
      drivers: { get: () => Promise.resolve(undefined) },
    };
    manager
      .addController(serviceController({ ...ports, store: raced.store }))
      .addController(schedulerController({ ...ports, store: raced.store }));
    await store.create(nodes, { name: 'n', status: 'Ready' });
    await manager.start();
  });
  afterEach(async () => {
    const stopping = manager.stop(0);
    await clock.advance(10_000);
    await stopping;
    await store.close();
  });

  const createService = async (
    scale: number,
    parameters: Readonly<Record<string, string>> = {},
  ): Promise<void> => {
    await store.create(services, {
      ...key,
      scale,
      volumes: [
        { name: 'data', mountPath: '/data', claimTemplate: { ...claimTemplate, parameters } },
      ],
      metadata: { finalizers: [serviceFinalizer] },
    });
    await settle();
  };
  const made = async (): Promise<readonly Instance[]> => (await store.list(instances)).items;

  it('are created with their volumes and the status in one transaction', async () => {
    await createService(3);
    expect((await made()).map(({ name, node }) => [name, node])).to.deep.equal([
      ['db-0', 'n'],
      ['db-1', 'n'],
      ['db-2', 'n'],
    ]);
    expect((await store.list(volumes)).items.map(({ name }) => name)).to.deep.equal([
      'data-db-0',
      'data-db-1',
      'data-db-2',
    ]);
    expect(await store.get(services, key)).to.include({ status: 'Pending', currentInstances: 3 });
    // One commit creates the instances and writes the status, and one per instance places it.
    expect(raced.commits).to.equal(4);
    await clock.advance(10 * 60_000);
    expect(raced.commits).to.equal(4);
  });

  it('a volume that is scaled away keeps its policy while its deletion is refused, and loses it with the deletion', async () => {
    const keeping = { reclaimPolicy: 'retain', retention: { whenScaled: 'delete' } } as const;
    await store.create(services, {
      ...key,
      scale: 2,
      volumes: [
        { name: 'data', mountPath: '/data', claimTemplate: { ...claimTemplate, ...keeping } },
      ],
      metadata: { finalizers: [serviceFinalizer] },
    });
    await settle();
    const copy = { namespace: 'default', name: 'copy' };
    await store.create(snapshots, { ...copy, source: { volume: 'data-db-1' } });
    const scaleTo = async (scale: number): Promise<void> => {
      const service = (await store.get(services, key))!;
      await store.update(services, { ...service, scale });
      await settle();
      // Removes the finalizers of deleted instances, as the agent of their node does.
      for (const { metadata, ...instance } of await made())
        if (metadata.deletionRequestedAt !== undefined)
          await store.update(instances, { ...instance, metadata: { ...metadata, finalizers: [] } });
      await settle();
    };
    const volume = () => store.get(volumes, { namespace: 'default', name: 'data-db-1' });
    await scaleTo(1);
    expect(await volume()).to.include({ reclaimPolicy: 'retain' });
    await scaleTo(2);
    expect(await volume()).to.include({ reclaimPolicy: 'retain' });
    await store.delete(snapshots, (await store.get(snapshots, copy))!);
    await scaleTo(1);
    const doomed = await volume();
    expect(doomed).to.include({ reclaimPolicy: 'delete' });
    expect(doomed?.metadata.deletionRequestedAt).to.be.a('string');
  });

  it('a volume that is scaled away stays when its service is scaled up right before its deletion', async () => {
    await store.create(services, {
      ...key,
      scale: 1,
      volumes: [
        {
          name: 'data',
          mountPath: '/data',
          claimTemplate: { ...claimTemplate, retention: { whenScaled: 'delete' } },
        },
      ],
      metadata: { finalizers: [serviceFinalizer] },
    });
    await settle();
    const volume = () => store.get(volumes, { namespace: 'default', name: 'data-db-0' });
    const uid = (await volume())?.metadata.uid;
    const scaleTo = async (scale: number): Promise<void> => {
      await store.update(services, { ...(await store.get(services, key))!, scale });
    };
    raced.overtake(
      ({ op, kind }) => op === 'delete' && kind === volumes,
      () => scaleTo(1),
    );
    await scaleTo(0);
    await settle();
    for (const { metadata, ...instance } of await made())
      await store.update(instances, { ...instance, metadata: { ...metadata, finalizers: [] } });
    await settle();
    const kept = await volume();
    expect(kept?.metadata.uid).to.equal(uid);
    expect(kept?.metadata.deletionRequestedAt).to.equal(undefined);
  });

  it('a volume that has the name of one that was scaled away is not deleted', async () => {
    const retention = { whenScaled: 'delete' } as const;
    await store.create(services, {
      ...key,
      scale: 1,
      volumes: [
        { name: 'data', mountPath: '/data', claimTemplate: { ...claimTemplate, retention } },
      ],
      metadata: { finalizers: [serviceFinalizer] },
    });
    await settle();
    const name = { namespace: 'default', name: 'data-db-0' };
    await store.update(services, { ...(await store.get(services, key))!, scale: 0 });
    await settle();
    raced.overtakeRead(volumes, name, async () => {
      const { metadata, ...mine } = (await store.get(volumes, name))!;
      await store.update(volumes, { ...mine, metadata: { ...metadata, finalizers: [] } });
      await store.deleteByName(volumes, name);
      await store.create(volumes, { ...name, ...claimTemplate, storageClassName: 'c' });
    });
    for (const { metadata, ...instance } of await made())
      await store.update(instances, { ...instance, metadata: { ...metadata, finalizers: [] } });
    await settle();
    const namesake = await store.get(volumes, name);
    expect(namesake).to.include({ storageClassName: 'c' }).and.not.have.property('reclaimPolicy');
    expect(namesake?.metadata.deletionRequestedAt).to.equal(undefined);
  });

  it('are created in several transactions if there are many', async () => {
    await createService(300);
    expect(await made()).to.have.length(300);
    expect((await store.list(volumes)).items).to.have.length(300);
    expect(await store.get(services, key)).to.include({ currentInstances: 300 });
  });

  it('a volume has the sealed parameters of its template, bound to itself', async () => {
    const service = holderOf(services, key);
    const token = sealer.seal('t0p', { holder: service, key: 'token' });
    await createService(1, { token });
    const volume = await store.get(volumes, { namespace: 'default', name: 'data-db-0' });
    const copy = volume?.parameters?.['token'] ?? '';
    const place = { holder: holderOf(volumes, volume!), key: 'token' };
    expect(sealer.isBoundTo(copy, place)).to.equal(true);
    expect(sealer.open(copy, place)).to.equal('t0p');
  });

  it('a volume of the same name that a user created is used unchanged', async () => {
    const mine = { namespace: 'default', name: 'data-db-0', storageClassName: 'c' };
    await store.create(volumes, { ...mine, size: '5Gi', accessMode: 'ReadWriteOnce' });
    await createService(1);
    expect(await made()).to.have.length(1);
    const volume = await store.get(volumes, mine);
    expect([volume?.size, volume?.ownerService]).to.deep.equal(['5Gi', undefined]);
  });

  it('none is created for a service that is deleted at the same time', async () => {
    raced.overtake(
      ({ op }) => op === 'create',
      () => store.deleteByName(services, key),
    );
    await createService(2);
    expect(await made()).to.deep.equal([]);
    expect((await store.list(volumes)).items).to.deep.equal([]);
    expect(await store.get(services, key)).to.equal(undefined);
  });

  it("is bound to a node together with the finalizer of that node's agent", async () => {
    await createService(1);
    const [instance] = await made();
    expect(instance).to.include({ node: 'n' });
    expect(instance?.metadata.finalizers).to.deep.equal([agentFinalizer]);
  });

  it('get minReadySeconds of the service, now and after a change, and are not replaced', async () => {
    await createService(1);
    const [before] = await made();
    const change = async (minReadySeconds: number): Promise<Instance | undefined> => {
      const service = await store.get(services, key);
      await store.update(services, { ...service!, minReadySeconds });
      await settle();
      return (await made())[0];
    };
    expect(before?.minReadySeconds).to.equal(undefined);
    for (const seconds of [30, 0]) {
      const after = await change(seconds);
      expect([after?.metadata.uid, after?.minReadySeconds]).to.deep.equal([
        before?.metadata.uid,
        seconds,
      ]);
    }
  });

  it('none is bound to a node that is not ready any more at the same time', async () => {
    raced.overtake(
      (operation) => operation.op === 'update' && operation.kind.kind === 'Instance',
      () => store.updateStatus(nodes, { name: 'n' }, { status: 'NotReady' }),
    );
    await createService(1);
    const [instance] = await made();
    expect(instance?.node).to.equal(undefined);
    expect(instance?.conditions?.[0]).to.include({ type: 'Scheduled', reason: 'NoNodeFits' });
  });

  it('none is bound to a node that is cordoned at the same time', async () => {
    raced.overtake(
      (operation) => operation.op === 'update' && operation.kind.kind === 'Instance',
      async () => {
        const node = await store.get(nodes, { name: 'n' });
        await store.update(nodes, { ...node!, unschedulable: true });
      },
    );
    await createService(1);
    const [instance] = await made();
    expect(instance?.node).to.equal(undefined);
    expect(instance?.conditions?.[0]).to.include({ type: 'Scheduled', reason: 'NoNodeFits' });
  });

  it('none is bound to a node that stopped since it was chosen', async () => {
    raced.overtakeRead(nodes, { name: 'n' }, () =>
      store.updateStatus(nodes, { name: 'n' }, { status: 'NotReady' }),
    );
    await createService(1);
    const [instance] = await made();
    expect(instance?.node).to.equal(undefined);
  });

  it('none is bound to a node if its volume is observed on another one at the same time', async () => {
    const name = { namespace: 'default', name: 'data-db-0' };
    const { metadata } = (await store.get(nodes, { name: 'n' }))!;
    await store.update(nodes, { name: 'n', labels: { zone: 'here' }, metadata });
    await store.create(volumes, { ...name, ...claimTemplate, storageClassName: 'c' });
    const placed = { driver: 'played', handle: 'h', topology: { zone: 'here' } };
    await reachState(store, volumes, name, 'Available', placed);
    raced.overtake(
      (operation) => operation.op === 'update' && operation.kind.kind === 'Instance',
      () => store.updateStatus(volumes, name, { topology: { zone: 'there' } }),
    );
    await createService(1);
    const [instance] = await made();
    expect(instance?.node).to.equal(undefined);
    expect(instance?.conditions?.[0]).to.include({ type: 'Scheduled', reason: 'NoNodeFits' });
  });
});
