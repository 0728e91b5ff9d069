import { expect } from 'chai';
import { runTxn } from 'kedge';
import { settle } from 'kedge/testing';
import { type Instance, instances } from '../../instance/kind.js';
import { nodes } from '../../node/kind.js';
import { StorageWorld } from '../../testing/storage-world.js';
import { volumeFinalizer } from '../index.js';
import { storageClasses } from '../../storage-class/kind.js';
import { volumes } from '../kind.js';

const namespace = 'default';
const zone = 'svc.io/zone';
const ports = [{ name: 'http', port: 80, hostPort: 8080 }];

describe('the room of an instance that waits for its volume', () => {
  let world: StorageWorld;
  beforeEach(async () => {
    world = await StorageWorld.start({ scheduler: true });
    world.driver.topologyKeys = [zone];
    world.driver.placeParameters = { [zone]: ['zone'] };
    world.driver.requiredTopologyKeys = [zone];
    for (const name of ['a', 'b'])
      await world.store.create(nodes, {
        name: `in-${name}`,
        status: 'Ready',
        labels: { [zone]: name },
      });
  });
  afterEach(() => world.stop());

  /** Creates an instance and its volume, if it has one, in one transaction as a service does. It needs a host port by default. */
  const instance = async (
    name: string,
    volume?: string,
    needs: Instance['template'] = { ports },
  ): Promise<void> => {
    const mounts = [{ name: 'd', mountPath: '/d', claim: { name: volume ?? '' } }];
    const template = { ...needs, ...(volume === undefined ? {} : { volumes: mounts }) };
    const created = runTxn(world.store, (txn) => {
      txn.create(instances, { namespace, name, service: name, ordinal: 0, template });
      if (volume !== undefined)
        txn.create(volumes, {
          ...{ namespace, name: volume, storageClassName: 'c', size: '1Gi' },
          ...{ accessMode: 'ReadWriteOnce', metadata: { finalizers: [volumeFinalizer] } },
        });
    });
    await created;
    await settle();
  };
  const found = (name: string): Promise<Instance | undefined> =>
    world.store.get(instances, { namespace, name });
  const nodesOf = (...names: string[]) =>
    Promise.all(names.map(async (name) => (await found(name))?.node));

  it('is not given to another instance, which gets the node of another zone', async () => {
    world.driver.slow = { provision: 1 };
    await instance('y', 'v');
    expect(await found('y')).to.include({ nominatedNode: 'in-a' });
    await instance('x');
    await world.clock.advance(10_000);
    expect(await nodesOf('x', 'y')).to.deep.equal(['in-b', 'in-a']);
  });

  it('is kept during a restart', async () => {
    world.driver.slow = { provision: 1 };
    await instance('y', 'v');
    await world.restart();
    await instance('x');
    await world.clock.advance(10_000);
    expect(await nodesOf('x', 'y')).to.deep.equal(['in-b', 'in-a']);
  });

  it('is that of the zone to which its volume moves', async () => {
    world.driver.full.add('a');
    world.driver.onCall = (call) => {
      if (call === 'delete') world.driver.slow = { provision: 1 };
      return Promise.resolve();
    };
    await instance('y', 'v');
    expect(await found('y')).to.include({ nominatedNode: 'in-b' });
    await instance('x');
    await world.clock.advance(60_000);
    expect(await nodesOf('x', 'y')).to.deep.equal(['in-a', 'in-b']);
  });

  it('does not exist if another instance gets it at the same time: the zone is selected again', async () => {
    world.driver.slow = { provision: 1 };
    // The cache lacks the instance that takes the node.
    const taking = world.store.create(instances, {
      ...{ namespace, name: 'x', service: 'x', ordinal: 0, template: { ports }, node: 'in-a' },
    });
    await Promise.all([taking, instance('y', 'v')]);
    await world.clock.advance(10_000);
    expect(await nodesOf('x', 'y')).to.deep.equal(['in-a', 'in-b']);
  });

  it('is chosen on a node that is not cordoned when the next volume is placed', async () => {
    await world.store.create(nodes, {
      name: 'in-a2',
      status: 'Ready',
      labels: { [zone]: 'a' },
    });
    world.driver.slow = { provision: 1 };
    await instance('y', 'v');
    const node = await world.store.get(nodes, { name: 'in-a' });
    await world.store.update(nodes, { ...node!, unschedulable: true });
    await settle();
    await instance('z', 'w');
    await world.clock.advance(10_000);
    expect(await nodesOf('y', 'z')).to.deep.equal(['in-a2', 'in-b']);
  });

  it('is reserved for many instances of a node at once, without a delay', async () => {
    const cordoned = await world.store.get(nodes, { name: 'in-b' });
    await world.store.update(nodes, { ...cordoned!, unschedulable: true });
    world.driver.slow = { provision: 100 };
    const names = Array.from({ length: 40 }, (_, index) => `i${index}`);
    const cpu = { resources: { cpu: { request: '1' } } };
    await Promise.all(names.map((name) => instance(name, name, cpu)));
    const all = await Promise.all(names.map(found));
    expect(new Set(all.map((each) => each?.nominatedNode))).to.deep.equal(new Set(['in-a']));
  });

  it('is counted once for each replica when the volume that they share is started again', async () => {
    const cordoned = await world.store.get(nodes, { name: 'in-b' });
    await world.store.update(nodes, { ...cordoned!, unschedulable: true });
    await world.store.updateStatus(nodes, { name: 'in-a' }, { capacity: { cpu: '2' } });
    world.driver.slow = { provision: 1_000 };
    const volumeOf = [{ name: 'd', mountPath: '/d', claim: { name: 'v' } }];
    const template = { resources: { cpu: { request: '1' } }, volumes: volumeOf };
    for (const name of ['y', 'z'])
      await world.store.create(instances, { namespace, name, service: name, ordinal: 0, template });
    await world.createVolume({ accessMode: 'ReadWriteMany' });
    await settle();
    const nominations = () =>
      Promise.all(['y', 'z'].map(async (name) => (await found(name))?.nominatedNode));
    expect(await nominations()).to.deep.equal(['in-a', 'in-a']);
    const ended = new AbortController();
    const nominees = new Set<string | undefined>();
    const watching = (async () => {
      for await (const { events } of world.store.watch(instances, {
        sendInitialEvents: true,
        signal: ended.signal,
      }))
        for (const { object } of events) nominees.add(object.nominatedNode);
    })();
    await world.clock.advance(10_000);
    const storageClass = await world.store.get(storageClasses, { name: 'c' });
    await world.store.update(storageClasses, { ...storageClass!, parameters: { tier: 'fast' } });
    await world.clock.advance(10_000);
    const volume = await world.store.get(volumes, { namespace, name: 'v' });
    expect(volume?.driverParameters).to.deep.equal({ tier: 'fast' });
    expect(await nominations()).to.deep.equal(['in-a', 'in-a']);
    await settle();
    ended.abort();
    await watching.catch(() => undefined);
    expect([...nominees], 'nominations').to.deep.equal(['in-a']);
  });
});
