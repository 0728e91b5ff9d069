import { randomBytes } from 'node:crypto';
import { expect } from 'chai';
import {
  findCondition,
  Manager,
  MemoryEngine,
  type ObjectStore,
  openStore,
  type Operation,
  seededRandom,
  silentLogger,
  timestamp,
} from 'kedge';
import { FakeClock, reachState, settle } from 'kedge/testing';
import { nodes } from '../node/kind.js';
import { secrets } from '../secret/kind.js';
import { storageClasses } from '../storage-class/kind.js';
import { volumes } from '../volume/kind.js';
import { instances } from './kind.js';
import { agentOfStore, NodeRegistration, nodeController } from '../node/index.js';
import { defaultPolicy } from '../policy/policy.js';
import { parameterResolver, Sealer } from '../secret/index.js';
import { overtakenStore, type OvertakenStore } from '../testing/overtaken-store.js';
import { PlayedDriver } from '../testing/played-driver.js';
import { volumeController, volumeFinalizer } from '../volume/index.js';
import { agentFinalizer } from './admission.js';
import { instanceController } from './controller.js';

const namespace = 'default';

describe('instances and volumes on a node', () => {
  let clock: FakeClock;
  let store: ObjectStore;
  /** The store of the instance controller and the node controller. Their commits can be overtaken. */
  let raced: OvertakenStore;
  let manager: Manager;
  let driver: PlayedDriver;
  let registration: NodeRegistration;

  beforeEach(async () => {
    clock = new FakeClock();
    const random = seededRandom(1);
    store = await openStore({ engine: new MemoryEngine(), clock });
    raced = overtakenStore(store);
    manager = new Manager({ store, clock, random });
    driver = new PlayedDriver();
    const common = { store, manager, clock, random, logger: silentLogger, policy: defaultPolicy };
    const resolver = parameterResolver(
      manager.informer(secrets).lister,
      new Sealer(randomBytes(32)),
    );
    const drivers = driver.registry();
    manager
      .addController(nodeController({ ...common, store: raced.store }))
      .addController(instanceController({ ...common, store: raced.store }))
      .addController(volumeController({ ...common, drivers, resolver, node: 'control' }));
    await store.create(storageClasses, { name: 'c', driver: 'played', reclaimPolicy: 'retain' });
    const key = { namespace, name: 'v' };
    await store.create(volumes, {
      ...key,
      storageClassName: 'c',
      size: '1Gi',
      accessMode: 'ReadWriteOnce',
      metadata: { finalizers: [volumeFinalizer] },
    });
    await reachState(store, volumes, key, 'Bound', {
      driver: 'played',
      handle: 'h',
      sizeBytes: String(1024 ** 3),
      boundClaim: 'default/i',
      boundNode: 'n',
      attachments: [{ claim: 'default/i', node: 'n', state: 'Attached' }],
    });
    await manager.start();
    registration = new NodeRegistration({
      ...common,
      name: 'n',
      labels: {},
      address: '10.0.0.1',
      version: '1',
      drivers: [],
      runtimes: () => Promise.resolve([]),
      life: agentOfStore(seededRandom(1)),
      onReplaced: ({ message }) => expect.fail(message),
    });
    await registration.start();
    await store.create(instances, {
      namespace,
      name: 'i',
      service: 's',
      ordinal: 0,
      node: 'n',
      template: { volumes: [{ name: 'd', mountPath: '/d', claim: { name: 'v' } }] },
      status: 'Running',
      metadata: { finalizers: [agentFinalizer] },
    });
    await settle();
  });
  afterEach(async () => {
    await registration.stop(1_000);
    const stopping = manager.stop(0);
    await clock.advance(10_000);
    await stopping;
    await store.close();
  });

  const volume = () => store.get(volumes, { namespace, name: 'v' });
  const instance = () => store.get(instances, { namespace, name: 'i' });
  const node = () => store.get(nodes, { name: 'n' });
  /** Stops the heartbeats and leaves the node Ready, like a machine that lost its power. */
  const silence = async () => {
    await registration.stop(1_000);
    const { metadata, conditions = [] } = (await node())!;
    const { uid } = metadata;
    const ready = conditions.map((c) => ({ ...c, status: 'True' as const }));
    await store.updateStatus(nodes, { name: 'n' }, { status: 'Ready', conditions: ready }, { uid });
  };

  it('are unknown once the node is silent, with the command that removes the node', async () => {
    await clock.advance(300_000);
    expect((await node())?.status, 'while it sends heartbeats').to.equal('Ready');
    await silence();
    await clock.advance(45_000);
    expect((await node())?.status).to.equal('NotReady');
    expect(await instance()).to.include({ status: 'Unknown' });
    const ready = findCondition((await instance())?.conditions, 'Ready');
    expect(ready?.reason).to.equal('NodeSilent');
    expect(ready?.message)
      .to.contain('is on node n, which has sent no heartbeat since 2026')
      .and.to.contain('start kedged on it')
      .and.to.contain('kedge delete node n');
    await store.deleteByName(instances, { namespace, name: 'i' });
    await clock.advance(600_000);
    expect(findCondition((await instance())?.conditions, 'Ready')?.message).to.contain(
      'its deletion waits for node n',
    );
    expect((await volume())?.attachments, 'the node keeps its volumes').to.have.length(1);
    expect(driver.calls).to.not.include('detach');
  });

  it('are released from a node that was deleted: first its volumes, then its instances', async () => {
    await silence();
    driver.failsOn = { detach: 'Unavailable' };
    await store.deleteByName(nodes, { name: 'n' });
    await clock.advance(59_000);
    expect(driver.calls, 'it may register again').to.not.include('detach');
    await clock.advance(5_000);
    expect((await volume())?.attachments?.[0]?.state).to.equal('Detaching');
    const waiting = await instance();
    expect(waiting?.metadata.deletionRequestedAt, 'to be created again').to.be.a('string');
    expect(findCondition(waiting?.conditions, 'Ready')?.message).to.equal(
      'node n was deleted; the instance waits until volume default/v is detached from it: kedge volume explain v -n default',
    );
    driver.failsOn = {};
    await clock.advance(600_000);
    expect(await volume()).to.include({ status: 'Available', boundNode: '', boundClaim: '' });
    expect(await instance()).to.equal(undefined);
  });

  it('are kept on a node that was deleted while it sends heartbeats', async () => {
    await store.deleteByName(nodes, { name: 'n' });
    await clock.advance(600_000);
    expect((await node())?.status).to.equal('Ready');
    expect((await volume())?.status).to.equal('Bound');
    expect((await instance())?.metadata.deletionRequestedAt).to.equal(undefined);
  });

  it('are kept on a node that is recreated before it counts as gone', async () => {
    await silence();
    for (const name of ['n', 'n']) {
      await store.deleteByName(nodes, { name });
      await clock.advance(50_000);
      await store.create(nodes, { name });
      await clock.advance(50_000);
    }
    expect((await volume())?.status).to.equal('Bound');
    expect((await instance())?.metadata.deletionRequestedAt).to.equal(undefined);
  });

  it('are not unknown if a heartbeat arrives right before that is written', async () => {
    await silence();
    const isVerdict = (operation: Operation) =>
      operation.op === 'updateStatus' && operation.kind.kind === nodes.kind;
    let came = 0;
    raced.overtake(isVerdict, () => {
      came += 1;
      const lastHeartbeatAt = timestamp(clock);
      return store.updateStatus(nodes, { name: 'n' }, { lastHeartbeatAt });
    });
    await clock.advance(45_000);
    expect(came).to.equal(1);
    expect((await node())?.status).to.equal('Ready');
    await clock.advance(45_000);
    expect((await node())?.status, 'no heartbeat since').to.equal('NotReady');
  });

  describe('that counts as gone', () => {
    const isDeletion = (operation: Operation) =>
      operation.op === 'delete' && operation.kind.kind === instances.kind;
    const isLetGo = (operation: Operation) =>
      operation.op === 'update' && operation.kind.kind === instances.kind;
    /** Number of times that a commit was overtaken. */
    let raceCount = 0;
    const race = (isMeant: (operation: Operation) => boolean, other: () => Promise<unknown>) => {
      raceCount = 0;
      raced.overtake(isMeant, () => {
        raceCount += 1;
        return other();
      });
    };
    const goes = async () => {
      await silence();
      await store.deleteByName(nodes, { name: 'n' });
      await clock.advance(600_000);
      expect(raceCount).to.equal(1);
    };

    it('keeps an instance whose node registers right before its deletion', async () => {
      race(isDeletion, () => store.create(nodes, { name: 'n' }));
      await goes();
      expect((await instance())?.metadata.deletionRequestedAt).to.equal(undefined);
    });

    it('keeps the instance that another node got under the name right before the deletion', async () => {
      await store.create(nodes, { name: 'm' });
      race(isDeletion, async () => {
        const { metadata, ...rest } = (await instance())!;
        await store.update(instances, { ...rest, metadata: { ...metadata, finalizers: [] } });
        await store.deleteByName(instances, { namespace, name: 'i' });
        await store.create(instances, { ...rest, node: 'm' });
      });
      await goes();
      expect(await instance()).to.include({ node: 'm' });
      expect((await instance())?.metadata.deletionRequestedAt).to.equal(undefined);
    });

    it('keeps an instance for which a volume is attached just before its release', async () => {
      const held = [{ claim: 'default/i', node: 'n', state: 'Attached' as const }];
      race(isLetGo, () => {
        driver.failsOn = { detach: 'Unavailable' };
        return store.updateStatus(volumes, { namespace, name: 'v' }, { attachments: held });
      });
      await goes();
      expect(await instance(), 'while it holds the volume').to.not.equal(undefined);
      driver.failsOn = {};
      await clock.advance(600_000);
      expect(await instance()).to.equal(undefined);
    });
  });
});
