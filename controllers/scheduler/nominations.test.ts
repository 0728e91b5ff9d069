import { expect } from 'chai';
import { findCondition, timestamp } from 'kedge';
import { settle } from 'kedge/testing';
import { type Instance, instances } from '../instance/kind.js';
import { nodes } from '../node/kind.js';
import { storageClasses } from '../storage-class/kind.js';
import { type Volume, volumes } from '../volume/kind.js';
import { ScheduledCluster as Cluster } from '../testing/scheduled-cluster.js';

const namespace = 'default';
const zone = 'svc.io/zone';
const ports = [{ name: 'http', port: 80, hostPort: 8080 }];
const claim = { name: 'data', mountPath: '/data', claim: { name: 'v' } };
/** Each node has the port for one of them. */
const exclusive = { ports };
const waiting = { ports, volumes: [claim] };

describe('an instance that is nominated for a node', () => {
  let cluster: Cluster;
  beforeEach(async () => {
    cluster = await Cluster.start(true);
    await cluster.store.create(storageClasses, { name: 'c', driver: 'played' });
    await cluster.volume('v');
    await volumeIs({ driver: 'played', topology: { [zone]: 'a' }, status: 'Provisioning' });
    await cluster.node('a1', { labels: { [zone]: 'a' } });
  });
  afterEach(() => cluster.stop());

  const volumeIs = (
    status: Partial<Pick<Volume, 'driver' | 'exhaustedTopologies' | 'status' | 'topology'>>,
  ) => cluster.store.updateStatus(volumes, { namespace, name: 'v' }, status);
  const found = async (name: string): Promise<Instance | undefined> => {
    await settle();
    return cluster.store.get(instances, { namespace, name });
  };
  const nominated = async (name: string) => (await found(name))?.nominatedNode;
  const nominate = async (name: string, node: string, afterMs = 0) => {
    const at = new Date(cluster.clock.now() + afterMs).toISOString();
    const nomination = { nominatedNode: node, nominatedAt: at };
    await cluster.store.updateStatus(instances, { namespace, name }, nomination);
    await settle();
  };
  /** Creates instance `y`, which waits for its volume, and is nominated for node a1. */
  const nominee = async () => {
    await cluster.instance('y', waiting);
    expect(await nominated('y')).to.equal('a1');
  };

  it('reserves its room, which others report, and gets it once its volume is provisioned', async () => {
    await nominee();
    await cluster.instance('x', exclusive);
    const { conditions, node } = (await found('x')) ?? {};
    expect(node).to.equal(undefined);
    expect(findCondition(conditions, 'Scheduled')).to.include({
      reason: 'HostPortTaken',
      message:
        '1 of 1 nodes are ready, 1 of them schedulable, but port 8080/TCP of node a1 is reserved for instance default/y, which waits for its volumes',
    });
    await cluster.at('v', { [zone]: 'a' });
    expect(await cluster.nodeOf('y')).to.equal('a1');
    expect(await found('y')).to.include({ nominatedNode: '', nominatedAt: '' });
    expect(await cluster.nodeOf('x')).to.equal(undefined);
  });

  it('keeps its share of resources', async () => {
    const cpu = (request: string) => ({ resources: { cpu: { request } } });
    await cluster.store.updateStatus(nodes, { name: 'a1' }, { capacity: { cpu: '3' } });
    await cluster.instance('y', { ...cpu('2'), volumes: [claim] });
    await cluster.instance('x', cpu('1500m'));
    await cluster.instance('z', cpu('1'));
    expect(await cluster.nodeOf('z')).to.equal('a1');
    expect(findCondition((await found('x'))?.conditions, 'Scheduled')?.message).to.match(
      /node a1 has \S+ of 3 cpu free, 1500m is requested \(room is reserved for instance default\/y,/,
    );
  });

  it('is not named as the cause if a node has too little without its reservation', async () => {
    const requests = (cpu: string, memory: string) => ({
      resources: { cpu: { request: cpu }, memory: { request: memory } },
    });
    const capacity = { cpu: '3', memory: '1Gi' };
    await cluster.store.updateStatus(nodes, { name: 'a1' }, { capacity });
    await cluster.instance('y', { ...requests('2', '1Mi'), volumes: [claim] });
    expect(await nominated('y')).to.equal('a1');
    const messageOf = async (name: string) =>
      findCondition((await found(name))?.conditions, 'Scheduled')?.message;
    await cluster.instance('x', requests('1', '2Gi'));
    expect(await messageOf('x')).to.match(/2Gi is requested$/);
    await cluster.instance('z', requests('2', '2Gi'));
    expect(await messageOf('z')).to.match(/2Gi is requested$/);
  });

  it('is placed there first, also if another node has more room', async () => {
    await nominee();
    await cluster.node('a0', { labels: { [zone]: 'a' } });
    await cluster.at('v', { [zone]: 'a' });
    expect(await cluster.nodeOf('y')).to.equal('a1');
  });

  it('is placed elsewhere if the node was cordoned meanwhile', async () => {
    await nominee();
    await cluster.node('a0', { labels: { [zone]: 'a' }, unschedulable: true });
    await cordon('a1');
    await cluster.store.update(nodes, {
      ...(await cluster.store.get(nodes, { name: 'a0' }))!,
      unschedulable: false,
    });
    await cluster.at('v', { [zone]: 'a' });
    expect(await cluster.nodeOf('y')).to.equal('a0');
  });

  const cordon = async (name: string): Promise<void> => {
    const node = await cluster.store.get(nodes, { name });
    await cluster.store.update(nodes, { ...node!, unschedulable: true });
    await settle();
  };

  const ends: Readonly<Record<string, () => Promise<unknown>>> = {
    'it is deleted': () => cluster.store.deleteByName(instances, { namespace, name: 'y' }),
    'its volume has failed': () => volumeIs({ status: 'Failed' }),
    'its volume is being deleted': async () => {
      const volume = await cluster.store.get(volumes, { namespace, name: 'v' });
      const metadata = { ...volume!.metadata, finalizers: ['kept'] };
      await cluster.store.update(volumes, { ...volume!, metadata });
      await cluster.store.deleteByName(volumes, { namespace, name: 'v' });
    },
    'its volume is provisioned elsewhere': () => cluster.at('v', { [zone]: 'b' }),
    'its volume gets another place': () => volumeIs({ topology: { [zone]: 'b' } }),
    'the place of its volume has no capacity': () =>
      volumeIs({
        exhaustedTopologies: [{ topology: { [zone]: 'a' }, refusedAt: timestamp(cluster.clock) }],
      }),
    'the node leaves the zone of its volume': async () => {
      const node = await cluster.store.get(nodes, { name: 'a1' });
      await cluster.store.update(nodes, { ...node!, labels: { [zone]: 'b' } });
    },
    'a quarter of an hour has passed': () => cluster.clock.advance(15 * 60_000),
  };
  for (const [title, change] of Object.entries(ends))
    it(`keeps nothing once ${title}`, async () => {
      await nominee();
      await cluster.instance('x', exclusive);
      expect(await cluster.nodeOf('x')).to.equal(undefined);
      await change();
      expect(await cluster.nodeOf('x')).to.equal('a1');
    });

  const endsOfUnstarted: Readonly<Record<string, () => Promise<unknown>>> = {
    'has failed': () =>
      cluster.store.updateStatus(volumes, { namespace, name: 'w' }, { status: 'Failed' }),
    'is being deleted': () => cluster.store.deleteByName(volumes, { namespace, name: 'w' }),
    'gets another place': () =>
      cluster.store.updateStatus(
        volumes,
        { namespace, name: 'w' },
        { driver: 'played', topology: { [zone]: 'b' } },
      ),
  };
  for (const [title, change] of Object.entries(endsOfUnstarted))
    it(`keeps nothing once another volume of it, which is not started, ${title}`, async () => {
      await cluster.volume('w');
      const volume = await cluster.store.get(volumes, { namespace, name: 'w' });
      const metadata = { ...volume!.metadata, finalizers: ['kept'] };
      await cluster.store.update(volumes, { ...volume!, metadata });
      const more = { ...claim, mountPath: '/more', name: 'more', claim: { name: 'w' } };
      await cluster.instance('y', { ports, volumes: [claim, more] });
      await nominate('y', 'a1');
      await cluster.instance('x', exclusive);
      expect(await cluster.nodeOf('x')).to.equal(undefined);
      await change();
      expect(await cluster.nodeOf('x')).to.equal('a1');
    });

  it('keeps nothing once it is being deleted, while a finalizer keeps it', async () => {
    await nominee();
    const instance = await found('y');
    const metadata = { ...instance!.metadata, finalizers: ['kept'] };
    await cluster.store.update(instances, { ...instance!, metadata });
    await cluster.instance('x', exclusive);
    expect(await cluster.nodeOf('x')).to.equal(undefined);
    await cluster.store.deleteByName(instances, { namespace, name: 'y' });
    expect(await cluster.nodeOf('x')).to.equal('a1');
  });

  const quarterMs = 15 * 60_000;
  const yearMs = 365 * 24 * 3_600_000;

  for (const [title, byMs] of [
    ['ahead', yearMs],
    ['behind', -yearMs],
  ] as const) {
    it(`keeps its room for a quarter of an hour if the clock of the writer is far ${title}`, async () => {
      await nominee();
      await nominate('y', 'a1', byMs);
      await cluster.instance('x', exclusive);
      await cluster.clock.advance(quarterMs - 1);
      expect(await cluster.nodeOf('x')).to.equal(undefined);
      await cluster.clock.advance(1);
      expect(await cluster.nodeOf('x')).to.equal('a1');
    });

    it(`keeps its room for a quarter of an hour if its clock is set far ${title}`, async () => {
      await nominee();
      await cluster.instance('x', exclusive);
      const earlier = cluster.clock.now.bind(cluster.clock);
      cluster.clock.now = () => earlier() + byMs;
      await cluster.clock.advance(quarterMs - 1);
      expect(await cluster.nodeOf('x')).to.equal(undefined);
      await cluster.clock.advance(1);
      expect(await cluster.nodeOf('x')).to.equal('a1');
    });
  }

  it('has no nominated node once its time has passed, and gets no further one', async () => {
    await cluster.node('a2', { labels: { [zone]: 'a' } });
    await nominee();
    const { nominatedAt } = (await found('y'))!;
    await cluster.clock.advance(quarterMs);
    expect(await found('y')).to.include({ nominatedNode: '', nominatedAt });
    await cluster.node('a3', { labels: { [zone]: 'a' } });
    expect(await nominated('y')).to.equal('');
    await cluster.clock.advance(quarterMs);
    expect(await nominated('y')).to.equal('');
    await cluster.at('v', { [zone]: 'a' });
    expect(await cluster.nodeOf('y')).to.be.oneOf(['a1', 'a2', 'a3']);
    expect(await found('y')).to.include({ nominatedNode: '', nominatedAt: '' });
  });

  it('leaves its room, once its time has passed, to an instance that does not wait for a volume', async () => {
    await nominee();
    await cluster.volume('w');
    const started = { driver: 'played', topology: { [zone]: 'a' } };
    await cluster.store.updateStatus(volumes, { namespace, name: 'w' }, started);
    await cluster.instance('w', { ports, volumes: [{ ...claim, claim: { name: 'w' } }] });
    await cluster.instance('x', exclusive);
    await cluster.clock.advance(quarterMs);
    expect(await nominated('w')).to.equal(undefined);
    expect(await cluster.nodeOf('x')).to.equal('a1');
  });

  for (const isStarted of [false, true])
    it(`leaves its room, once its time has passed, to an instance whose class names the zone (${isStarted ? 'started' : 'not started'})`, async () => {
      await nominee();
      await cluster.classNaming('in-a', 'a');
      await cluster.volume('w', 'in-a');
      const started = { driver: 'played', topology: { [zone]: 'a' } };
      if (isStarted) await cluster.store.updateStatus(volumes, { namespace, name: 'w' }, started);
      await cluster.instance('w', { ports, volumes: [{ ...claim, claim: { name: 'w' } }] });
      expect(await cluster.nodeOf('w')).to.equal(undefined);
      await cluster.clock.advance(quarterMs);
      expect(await cluster.nodeOf('w')).to.equal('a1');
    });

  it('has a further quarter of an hour once its volume gets another place', async () => {
    await nominee();
    await cluster.instance('x', exclusive);
    await cluster.clock.advance(quarterMs - 1);
    await nominate('y', 'a1');
    await cluster.clock.advance(quarterMs - 1);
    expect(await cluster.nodeOf('x')).to.equal(undefined);
    await cluster.clock.advance(1);
    expect(await cluster.nodeOf('x')).to.equal('a1');
  });

  it('has no time of an earlier instance of its name', async () => {
    await nominee();
    await cluster.clock.advance(quarterMs - 1);
    await cluster.end('y');
    await cluster.instance('y', waiting);
    expect(await nominated('y')).to.equal('a1');
    await cluster.instance('x', exclusive);
    await cluster.clock.advance(quarterMs - 1);
    expect(await cluster.nodeOf('x')).to.equal(undefined);
    await cluster.clock.advance(1);
    expect(await cluster.nodeOf('x')).to.equal('a1');
  });

  it('keeps nothing once it is nominated for another node', async () => {
    const disk = { disk: 'fast' };
    const node = await cluster.store.get(nodes, { name: 'a1' });
    await cluster.store.update(nodes, { ...node!, labels: { [zone]: 'a', ...disk } });
    await nominee();
    await cluster.instance('x', { ...exclusive, nodeSelector: disk });
    await cluster.node('a2', { labels: { [zone]: 'a' } });
    expect(await cluster.nodeOf('x')).to.equal(undefined);
    await nominate('y', 'a2');
    expect(await cluster.nodeOf('x')).to.equal('a1');
  });

  it('keeps nothing on a node where it does not fit any more', async () => {
    const large = { resources: { memory: { request: '2Gi' } } };
    await cluster.store.updateStatus(nodes, { name: 'a1' }, { capacity: { memory: '2Gi' } });
    await cluster.instance('y', { ...large, volumes: [claim] });
    expect(await nominated('y')).to.equal('a1');
    await cluster.store.updateStatus(nodes, { name: 'a1' }, { capacity: { memory: '1Gi' } });
    await cluster.instance('x', { resources: { memory: { request: '1Gi' } } });
    expect(await cluster.nodeOf('x')).to.equal('a1');
  });

  it('does not wait for another one that is nominated for the same room later', async () => {
    await cordon('a1');
    for (const name of ['y', 'z']) await cluster.instance(name, waiting);
    await nominate('z', 'a1', 1);
    await nominate('y', 'a1', 2);
    const node = await cluster.store.get(nodes, { name: 'a1' });
    await cluster.at('v', { [zone]: 'a' });
    await cluster.store.update(nodes, { ...node!, unschedulable: false });
    expect([await cluster.nodeOf('y'), await cluster.nodeOf('z')]).to.deep.equal([undefined, 'a1']);
  });

  it('is nominated for another node of the zone once its node is cordoned, without more time', async () => {
    await nominee();
    const before = (await found('y'))?.nominatedAt;
    await cluster.clock.advance(60_000);
    await cluster.node('a2', { labels: { [zone]: 'a' } });
    await cordon('a1');
    expect(await found('y')).to.include({ nominatedNode: 'a2', nominatedAt: before });
    await cluster.clock.advance(14 * 60_000);
    await cluster.node('a3', { labels: { [zone]: 'a' } });
    await cordon('a2');
    expect(await nominated('y')).to.equal('');
  });

  it('is not nominated for a room that another one is about to get', async () => {
    await nominee();
    await cluster.volume('w');
    const more = { driver: 'played', topology: { [zone]: 'a' } };
    await cluster.store.updateStatus(volumes, { namespace, name: 'w' }, more);
    await cluster.instance('z', { ports, volumes: [{ ...claim, claim: { name: 'w' } }] });
    expect(await nominated('z')).to.equal(undefined);
    await cluster.node('a2', { labels: { [zone]: 'a' } });
    expect(await nominated('z')).to.equal('a2');
  });
});
