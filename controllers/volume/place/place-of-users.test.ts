import { expect } from 'chai';
import { modify, type NewObject } from 'kedge';
import { settle } from 'kedge/testing';
import { type Instance, instances } from '../../instance/kind.js';
import { type Node, nodes } from '../../node/kind.js';
import { type StorageClass, storageClasses } from '../../storage-class/kind.js';
import { StorageWorld } from '../../testing/storage-world.js';

const region = 'svc.io/region';
const zone = 'svc.io/zone';

describe('the place of a volume whose class names no zone', () => {
  let world: StorageWorld;
  beforeEach(async () => {
    world = await StorageWorld.start();
    world.driver.topologyKeys = [region, zone];
    world.driver.placeParameters = { [region]: ['region'], [zone]: ['zone'] };
    world.driver.requiredTopologyKeys = [zone];
    for (const name of ['a', 'b', 'c']) await node(`in-${name}`, { [zone]: name });
  });
  afterEach(() => world.stop());

  const node = (name: string, labels: Node['labels'], more: Partial<Node> = {}) =>
    world.store.create(nodes, { name, status: 'Ready', ...more, labels: labels ?? {} });
  const setNotReady = async (...names: string[]): Promise<void> => {
    for (const name of names)
      await world.store.updateStatus(nodes, { name }, { status: 'NotReady' });
    await settle();
  };
  const mounting = (...names: string[]) => ({
    volumes: names.map((name) => ({ name, mountPath: `/${name}`, claim: { name } })),
  });
  const instance = (
    name: string,
    template: Instance['template'],
    more: Partial<NewObject<Instance>> = {},
  ) =>
    world.store.create(instances, {
      ...{ namespace: 'default', name, service: name, ordinal: 0, template },
      ...more,
    });
  /** Each node has the port for one of them. */
  const exclusive = (...names: string[]) => ({
    ports: [{ name: 'http', port: 80, hostPort: 8080 }],
    ...mounting(...names),
  });
  const storageClass = (name: string, more: Partial<StorageClass>) =>
    world.store.create(storageClasses, {
      name,
      driver: 'played',
      reclaimPolicy: 'delete',
      ...more,
    });
  const zonesOf = (...names: string[]) =>
    Promise.all(names.map(async (name) => (await world.volume(name))?.topology?.[zone]));

  it('is the zone that the class of another volume of its instance names', async () => {
    await storageClass('named', { parameters: { zone: 'b' } });
    await instance('i', mounting('v', 'w'));
    await Promise.all([
      world.createVolume(),
      world.createVolume({ name: 'w', storageClassName: 'named' }),
    ]);
    expect(await zonesOf('v', 'w')).to.deep.equal(['b', 'b']);
  });

  it('is that of another volume of its instance, also if that one has left a place without capacity', async () => {
    await instance('i', mounting('v', 'w'));
    world.driver.full.add('a');
    world.driver.slow = { provision: 1 };
    await world.createVolume({ name: 'w' });
    world.driver.full.add('b');
    await world.createVolume();
    world.driver.full.delete('b');
    await world.clock.advance(60_000);
    expect(await zonesOf('v', 'w')).to.deep.equal(['b', 'b']);
  });

  it('is not the one in which an instance is expected since before a restart', async () => {
    const names = ['v', 'w', 'x'];
    for (const name of names) await instance(`uses-${name}`, exclusive(name));
    world.driver.slow = { provision: 1 };
    await world.createVolume();
    await world.restart();
    for (const name of ['w', 'x']) await world.createVolume({ name });
    expect(await zonesOf(...names)).to.have.members(['a', 'b', 'c']);
  });

  it('has room for its instance later, if no node for it is Ready and has room now', async () => {
    await setNotReady('in-b', 'in-c');
    await instance('placed', exclusive(), { node: 'in-a' });
    await settle();
    await instance('i', exclusive('v'));
    await world.createVolume();
    expect(await zonesOf('v')).to.deep.equal(['b']);
  });

  it('has room for each replica later, if no node is Ready', async () => {
    await setNotReady('in-a', 'in-b', 'in-c');
    const names = ['v', 'w', 'x'];
    for (const name of names) await instance(`uses-${name}`, exclusive(name));
    await Promise.all(names.map((name) => world.createVolume({ name })));
    expect(await zonesOf(...names)).to.have.members(['a', 'b', 'c']);
  });

  it('is one that its class permits and in which its instance can run later, if it can run elsewhere now', async () => {
    await modify(world.store, storageClasses, { name: 'c' }, (found) => ({
      ...found,
      allowedTopologies: ['a', 'b'].map((each) => ({ matchLabels: { [zone]: each } })),
    }));
    await node('z-fast-b', { [zone]: 'b', disk: 'fast' }, { status: 'NotReady' });
    await node('z-fast-c', { [zone]: 'c', disk: 'fast' });
    await instance('i', { nodeSelector: { disk: 'fast' }, ...mounting('v') });
    await world.createVolume();
    expect(await zonesOf('v')).to.deep.equal(['b']);
  });

  it('is in the region of the class, also if nothing can run there now', async () => {
    await storageClass('europe', { parameters: { region: 'eu' } });
    await node('eu', { [region]: 'eu', [zone]: 'eu-a' }, { status: 'NotReady' });
    await node('us', { [region]: 'us', [zone]: 'us-a' });
    await world.createVolume({ storageClassName: 'europe' });
    const topology = { [region]: 'eu', [zone]: 'eu-a' };
    expect((await world.volume())?.topology).to.deep.equal(topology);
  });

  it('is one that some of its instances reach, if their places contradict each other', async () => {
    for (const at of ['b', 'c'])
      await instance(`in-${at}`, { nodeSelector: { [zone]: at }, ...mounting('v') });
    await world.createVolume();
    expect(await zonesOf('v')).to.deep.equal(['b']);
  });

  it('is the one that most of its instances reach, if their places contradict each other', async () => {
    for (const [name, at] of [
      ['i', 'b'],
      ['j', 'c'],
      ['k', 'c'],
    ] as const)
      await instance(name, { nodeSelector: { [zone]: at }, ...mounting('v') });
    await world.createVolume();
    expect(await zonesOf('v')).to.deep.equal(['c']);
  });

  it('does not depend on an instance that is being deleted', async () => {
    const template = { nodeSelector: { [zone]: 'c' }, ...mounting('v') };
    const ending = await instance('i', template, { metadata: { finalizers: ['svc.io/agent'] } });
    await world.store.delete(instances, ending);
    await world.createVolume();
    expect(await zonesOf('v')).to.deep.equal(['a']);
  });

  it('has room for each replica later, if each node is cordoned', async () => {
    for (const name of ['in-a', 'in-b', 'in-c'])
      await modify(world.store, nodes, { name }, (found) => ({ ...found, unschedulable: true }));
    await settle();
    const names = ['v', 'w', 'x'];
    for (const name of names) await instance(`uses-${name}`, exclusive(name));
    await Promise.all(names.map((name) => world.createVolume({ name })));
    expect(await zonesOf(...names)).to.have.members(['a', 'b', 'c']);
  });

  it('has room for each replica after a move from a place without capacity', async () => {
    const names = ['v', 'w'];
    for (const name of names) await instance(`uses-${name}`, exclusive(name));
    world.driver.full.add('a');
    for (const name of names) await world.createVolume({ name });
    expect(await zonesOf(...names)).to.have.members(['b', 'c']);
  });

  it('has capacity that others are expected to use rather than none at all', async () => {
    await instance('placed', exclusive(), { node: 'in-a' });
    await settle();
    const names = ['v', 'w', 'x'];
    for (const name of names) await instance(`uses-${name}`, exclusive(name));
    for (const name of names) await world.createVolume({ name });
    const [v, w, x] = await zonesOf(...names);
    expect([v, w]).to.deep.equal(['b', 'c']);
    expect(x).to.be.oneOf(['b', 'c']);
  });

  it('has the room of an instance at once that was deleted before it was placed', async () => {
    const first = await instance('first', exclusive('v'));
    await world.createVolume();
    await world.store.delete(instances, first);
    await settle();
    await instance('second', exclusive('w'));
    await world.createVolume({ name: 'w' });
    expect(await zonesOf('v', 'w')).to.deep.equal(['a', 'a']);
  });

  it('has room for most of the instances that share it', async () => {
    for (const name of ['z-c2', 'z-c3']) await node(name, { [zone]: 'c' });
    await node('z-b2', { [zone]: 'b' });
    for (const name of ['i', 'j', 'k']) await instance(name, exclusive('v'));
    await world.createVolume();
    expect(await zonesOf('v')).to.deep.equal(['c']);
  });

  it('has room for most of the instances that share it, also after it left a zone without capacity', async () => {
    for (const name of ['z-c2', 'z-c3']) await node(name, { [zone]: 'c' });
    await node('z-b2', { [zone]: 'b' });
    world.driver.full.add('c');
    for (const name of ['i', 'j', 'k']) await instance(name, exclusive('v'));
    await world.createVolume();
    expect(await zonesOf('v')).to.deep.equal(['b']);
  });

  it('differs among the replicas of a service for which no node has room', async () => {
    for (const at of ['a', 'b', 'c']) await instance(`in-${at}`, exclusive(), { node: `in-${at}` });
    await settle();
    const names = Array.from({ length: 6 }, (_, ordinal) => `v${ordinal}`);
    for (const [ordinal, name] of names.entries())
      await instance(`s-${ordinal}`, exclusive(name), { service: 's', ordinal });
    for (const name of names) await world.createVolume({ name });
    const zones = await zonesOf(...names);
    for (const at of ['a', 'b', 'c']) expect(zones.filter((each) => each === at)).to.have.length(2);
  });
});
