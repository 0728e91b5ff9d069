import { randomBytes } from 'node:crypto';
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
import { instances, nodes, secrets, storageClasses, volumes } from '../kinds/index.js';
import { NodeRegistration, nodeController } from '../node/index.js';
import { defaultPolicy } from '../policy.js';
import { parameterResolver, Sealer } from '../secret/index.js';
import { PlayedDriver } from '../testing/played-driver.js';
import { volumeController, volumeFinalizer } from '../volume/index.js';
import { agentFinalizer } from './admission.js';
import { instanceController } from './controller.js';

const namespace = 'default';

describe('what is on a node', () => {
  let clock: FakeClock;
  let store: ObjectStore;
  let manager: Manager;
  let driver: PlayedDriver;
  let registration: NodeRegistration;

  beforeEach(async () => {
    clock = new FakeClock();
    const random = seededRandom(1);
    store = await openStore({ engine: new MemoryEngine(), clock });
    manager = new Manager({ store, clock, random });
    driver = new PlayedDriver();
    const common = { store, manager, clock, random, logger: silentLogger, policy: defaultPolicy };
    const resolver = parameterResolver(
      manager.informer(secrets).lister,
      new Sealer(randomBytes(32)),
    );
    const drivers = driver.registry();
    manager
      .addController(nodeController(common))
      .addController(instanceController(common))
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
    });
    await registration.start();
    await store.create(instances, {
      namespace,
      name: 'i',
      service: 's',
      ordinal: 0,
      node: 'n',
      template: {},
      status: 'Running',
      metadata: { finalizers: [agentFinalizer] },
    });
    await settle();
  });
  afterEach(async () => {
    await registration.stop();
    const stopping = manager.stop(0);
    await clock.advance(10_000);
    await stopping;
    await store.close();
  });

  const volume = () => store.get(volumes, { namespace, name: 'v' });
  const instance = () => store.get(instances, { namespace, name: 'i' });
  const node = () => store.get(nodes, { name: 'n' });
  /** As a machine that lost its power: nothing is said any more. */
  const silence = async () => {
    await registration.stop();
    const { metadata, conditions = [] } = (await node())!;
    const { uid } = metadata;
    const ready = conditions.map((c) => ({ ...c, status: 'True' as const }));
    await store.updateStatus(nodes, { name: 'n' }, { status: 'Ready', conditions: ready }, { uid });
  };

  it('is unknown once the node is silent, and says which command takes the node out of the cluster', async () => {
    await clock.advance(300_000);
    expect((await node())?.status, 'while it tells of itself').to.equal('Ready');
    await silence();
    await clock.advance(45_000);
    expect((await node())?.status).to.equal('NotReady');
    expect(await instance()).to.include({ status: 'Unknown' });
    const told = findCondition((await instance())?.conditions, 'Ready');
    expect(told?.reason).to.equal('NodeSilent');
    expect(told?.message)
      .to.contain('is on node n, which told nothing of itself since 2026')
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

  it('is taken from a node that was deleted: first its volumes, then its instances', async () => {
    await silence();
    driver.failsOn = { detach: 'Unavailable' };
    await store.deleteByName(nodes, { name: 'n' });
    await clock.advance(59_000);
    expect(driver.calls, 'it may make itself known again').to.not.include('detach');
    await clock.advance(5_000);
    expect((await volume())?.attachments?.[0]?.state).to.equal('Detaching');
    const waiting = await instance();
    expect(waiting?.metadata.deletionRequestedAt, 'to be made anew').to.be.a('string');
    expect(findCondition(waiting?.conditions, 'Ready')?.message).to.equal(
      'node n is gone; waits until volume default/v is taken from it: kedge volume explain v -n default',
    );
    driver.failsOn = {};
    await clock.advance(600_000);
    expect(await volume()).to.include({ status: 'Available', boundNode: '', boundClaim: '' });
    expect(await instance()).to.equal(undefined);
  });

  it('stays on a node that was deleted while it is alive', async () => {
    await store.deleteByName(nodes, { name: 'n' });
    await clock.advance(600_000);
    expect((await node())?.status).to.equal('Ready');
    expect((await volume())?.status).to.equal('Bound');
    expect((await instance())?.metadata.deletionRequestedAt).to.equal(undefined);
  });

  it('stays on a node that is made again under its name before it counts as gone', async () => {
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
});
