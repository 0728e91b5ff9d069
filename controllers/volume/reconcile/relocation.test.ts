import { expect } from 'chai';
import { effectRecords, findCondition, modify } from 'kedge';
import { settle } from 'kedge/testing';
import { type Instance, instances } from '../../instance/kind.js';
import { type Node, nodes } from '../../node/kind.js';
import { storageClasses } from '../../storage-class/kind.js';
import { StorageWorld } from '../../testing/storage-world.js';
import { volumes } from '../kind.js';

const zone = 'svc.io/zone';
const key = { namespace: 'default', name: 'v' };

describe('a volume whose class names no zone', () => {
  let world: StorageWorld;
  beforeEach(async () => {
    world = await StorageWorld.start();
    world.driver.topologyKeys = [zone];
    world.driver.placeParameters = { [zone]: ['zone'] };
    world.driver.requiredTopologyKeys = [zone];
    for (const name of ['a', 'b', 'c']) await node(`in-${name}`, name);
  });
  afterEach(() => world.stop());

  const node = (name: string, of: string, more: Partial<Node> = {}) =>
    world.store.create(nodes, { name, labels: { [zone]: of }, status: 'Ready', ...more });
  const instance = (name: string, more: Partial<Instance> = {}) =>
    world.store.create(instances, {
      namespace: 'default',
      name,
      service: name,
      ordinal: 0,
      template: { volumes: [{ name: 'd', mountPath: '/d', claim: { name: 'v' } }] },
      ...more,
    });
  const zoneOf = async (name = 'v') => (await world.volume(name))?.topology?.[zone];
  const uid = async () => (await world.volume())?.metadata.uid ?? '';
  const zonesMade = async () => [...(world.driver.zones.get(await uid()) ?? [])];
  const provisionedMessage = async () =>
    findCondition((await world.volume())?.conditions, 'Provisioned')?.message ?? '';
  const count = (name: string): number => world.driver.calls.filter((c) => c === name).length;

  it('is provisioned in another zone if the first one has no capacity', async () => {
    world.driver.full.add('a').add('b');
    await world.createVolume();
    expect(await world.volume()).to.include({ status: 'Available', reason: 'Provisioned' });
    expect(await zoneOf()).to.equal('c');
    expect(await zonesMade()).to.deep.equal(['c']);
    expect((await world.volume())?.exhaustedTopologies).to.deep.equal([]);
    // Each zone was left only after the driver had confirmed that nothing is there.
    expect(world.driver.calls).to.deep.equal([
      'provision',
      'delete',
      'provision',
      'delete',
      'provision',
    ]);
  });

  it('reports which zones have no capacity, and is not retried in a hot loop', async () => {
    for (const each of ['a', 'b', 'c']) world.driver.full.add(each);
    await world.createVolume();
    expect(count('provision')).to.equal(3);
    expect(await world.volume()).to.include({ status: 'Provisioning', reason: 'QuotaExceeded' });
    expect(await provisionedMessage()).to.equal(
      'c is full; no capacity in svc.io/zone=a, svc.io/zone=b, svc.io/zone=c, and no Ready node that may use the volume is elsewhere',
    );
    await world.clock.advance(60_000);
    expect(count('provision')).to.be.within(5, 10);
    world.driver.full.delete('c');
    await world.clock.advance(400_000);
    expect(await world.volume()).to.include({ status: 'Available' });
    expect(await zonesMade()).to.deep.equal(['c']);
  });

  it('moves when a node of a further zone joins', async () => {
    for (const each of ['a', 'b', 'c']) world.driver.full.add(each);
    await world.createVolume();
    await node('in-d', 'd');
    await settle();
    expect(await world.volume()).to.include({ status: 'Available' });
    expect(await zoneOf()).to.equal('d');
  });

  it('is retried in the zones that refused after a while', async () => {
    for (const each of ['a', 'b', 'c']) world.driver.full.add(each);
    await world.createVolume();
    await world.clock.advance(25 * 60_000);
    world.driver.full.delete('a');
    await world.clock.advance(45 * 60_000);
    expect(await world.volume()).to.include({ status: 'Available' });
    expect(await zonesMade()).to.deep.equal(['a']);
  });

  it('is retried in a zone that refused while the clock was far ahead', async () => {
    for (const each of ['a', 'b', 'c']) world.driver.full.add(each);
    await world.createVolume();
    const refusedAt = new Date(world.clock.now() + 365 * 24 * 3_600_000).toISOString();
    const exhaustedTopologies = ['a', 'b'].map((of) => ({ topology: { [zone]: of }, refusedAt }));
    await world.store.updateStatus(volumes, key, { exhaustedTopologies });
    world.driver.full.delete('a');
    await world.clock.advance(10 * 60_000);
    expect(await zonesMade()).to.deep.equal(['a']);
  });

  it('is never provisioned twice: the result of a lost answer is deleted first', async () => {
    world.driver.full.add('a');
    world.driver.losesAnswers = true;
    await world.createVolume();
    expect(await zonesMade()).to.deep.equal(['a']);
    world.driver.losesAnswers = false;
    await world.clock.advance(10_000);
    expect(await zoneOf()).to.equal('b');
    expect(await zonesMade()).to.deep.equal(['b']);
  });

  it('does not continue the operation of the full zone in another one', async () => {
    const kept: boolean[] = [];
    world.driver.onCall = async (call) => {
      const record = await world.store.get(effectRecords, { name: await uid() });
      if (call === 'provision') kept.push(record?.effects['driver provision'] !== undefined);
    };
    world.driver.slow = { provision: 1 };
    await world.createVolume();
    world.driver.full.add('a');
    await world.clock.advance(10_000);
    expect(await zonesMade()).to.deep.equal(['b']);
    expect(kept).to.deep.equal([false, true, false]);
  });

  it('stays while the deletion in the full zone fails or is in progress, and reports it', async () => {
    world.driver.full.add('a');
    world.driver.failsOn = { delete: 'Unavailable' };
    await world.createVolume();
    await world.clock.advance(10_000);
    expect(await zoneOf()).to.equal('a');
    expect(await provisionedMessage()).to.match(
      /is provisioned once nothing of its last attempt is in svc.io\/zone=a: call/,
    );
    world.driver.failsOn = {};
    world.driver.slow = { delete: 2 };
    await world.clock.advance(120_000);
    expect(await zonesMade()).to.deep.equal(['b']);
  });

  it('continues after a restart at each step', async () => {
    world.driver.full.add('a');
    const hangs: string[] = [];
    const hangAt = (at: string) => {
      world.driver.onCall = (call) => {
        if (call !== at) return Promise.resolve();
        hangs.push(call);
        return new Promise(() => undefined);
      };
    };
    hangAt('delete');
    await world.createVolume();
    hangAt('provision');
    await world.restartDuringCall();
    await world.clock.advance(60_000);
    world.driver.onCall = undefined;
    await world.restartDuringCall();
    expect(hangs).to.deep.equal(['delete', 'provision']);
    await world.clock.advance(60_000);
    expect(await zonesMade()).to.deep.equal(['b']);
    expect(await world.volume()).to.include({ status: 'Available' });
  });

  it('stays in the zone of the class', async () => {
    world.driver.full.add('a');
    await world.store.create(storageClasses, {
      name: 'named',
      driver: 'played',
      reclaimPolicy: 'delete',
      parameters: { zone: 'a' },
    });
    await world.createVolume({ storageClassName: 'named' });
    expect(await provisionedMessage()).to.equal('a is full');
    expect(count('provision')).to.equal(1);
    expect(await zoneOf()).to.equal('a');
  });

  it('moves only to zones that its class permits and that have a node that is Ready', async () => {
    await modify(world.store, storageClasses, { name: 'c' }, (found) => ({
      ...found,
      allowedTopologies: ['a', 'b'].map((each) => ({ matchLabels: { [zone]: each } })),
    }));
    world.driver.full.add('a');
    await world.store.updateStatus(nodes, { name: 'in-b' }, { status: 'NotReady' });
    await world.createVolume();
    expect(await zoneOf()).to.equal('a');
    expect(count('provision')).to.equal(1);
    await world.store.updateStatus(nodes, { name: 'in-b' }, { status: 'Ready' });
    await settle();
    expect(await zoneOf()).to.equal('b');
    expect(await world.volume()).to.include({ status: 'Available' });
  });

  it('is provisioned first where an instance can run now: not where each node is cordoned or not Ready', async () => {
    const nodeOf = (name: string) => ({ name });
    await modify(world.store, nodes, nodeOf('in-a'), (found) => ({
      ...found,
      unschedulable: true,
    }));
    await world.store.updateStatus(nodes, nodeOf('in-b'), { status: 'NotReady' });
    await settle();
    await world.createVolume();
    expect(await zonesMade()).to.deep.equal(['c']);
  });

  it('is provisioned in any zone if no instance can run anywhere now', async () => {
    for (const name of ['in-a', 'in-b', 'in-c'])
      await world.store.updateStatus(nodes, { name }, { status: 'NotReady' });
    await settle();
    await world.createVolume();
    expect(await world.volume()).to.include({ status: 'Available' });
  });

  it('is provisioned where its instance can run', async () => {
    await instance('i', {
      template: {
        nodeSelector: { disk: 'fast' },
        volumes: [{ name: 'd', mountPath: '/d', claim: { name: 'v' } }],
      },
    });
    await node('fast-b', 'b', { labels: { [zone]: 'b', disk: 'fast' } });
    await node('fast-d', 'd', { labels: { [zone]: 'd', disk: 'fast' } });
    world.driver.full.add('b');
    await world.createVolume();
    expect(await zoneOf()).to.equal('d');
    world.driver.full.add('d');
    await world.createVolume({ name: 'w' });
    expect(await zoneOf('w')).to.equal('a');
  });

  it('is provisioned where its instance can run later, if no node for it is Ready now', async () => {
    const template = {
      nodeSelector: { disk: 'fast' },
      volumes: [{ name: 'd', mountPath: '/d', claim: { name: 'v' } }],
    };
    await instance('i', { template });
    await node('z-fast', 'b', { labels: { [zone]: 'b', disk: 'fast' }, status: 'NotReady' });
    await world.createVolume();
    expect(await zoneOf()).to.equal('b');
    expect(await world.volume()).to.include({ status: 'Available' });
  });

  it('stays where an instance that was placed before runs', async () => {
    await instance('i', { node: 'in-b' });
    world.driver.full.add('b');
    await world.createVolume();
    expect(await zoneOf()).to.equal('b');
    expect(count('provision')).to.equal(1);
    expect(await provisionedMessage()).to.match(
      /svc.io\/zone=b, and instance default\/i is placed there$/,
    );
  });

  /** Creates the user of a volume; each node has the port for one of them. */
  const exclusive = (name: string) =>
    instance(`uses-${name}`, {
      template: {
        ports: [{ name: 'http', port: 80, hostPort: 8080 }],
        volumes: [{ name: 'd', mountPath: '/d', claim: { name } }],
      },
    });

  it('is provisioned where its instance has room beside those that are about to be placed', async () => {
    const names = ['v', 'w', 'x', 'y'];
    for (const name of names) await exclusive(name);
    // Created at once, as those of a service.
    await Promise.all(names.map((name) => world.createVolume({ name })));
    const zones = await Promise.all(names.map(zoneOf));
    expect(zones.slice(0, 3)).to.have.members(['a', 'b', 'c']);
    // Nothing is free for the last one, which has a place nevertheless.
    expect(await world.volume('y')).to.include({ status: 'Available' });
  });

  it('is provisioned without regard to an instance that was deleted before it was placed', async () => {
    const first = await exclusive('v');
    await world.createVolume();
    await world.store.delete(instances, first);
    await world.clock.advance(61_000);
    await exclusive('w');
    await world.createVolume({ name: 'w' });
    expect([await zoneOf(), await zoneOf('w')]).to.deep.equal(['a', 'a']);
  });

  it('is provisioned in the zone of the other volumes of its instance', async () => {
    const template = {
      volumes: ['v', 'w'].map((name) => ({ name, mountPath: `/${name}`, claim: { name } })),
    };
    await instance('i', { template });
    world.driver.full.add('a');
    await world.createVolume();
    expect(await zoneOf()).to.equal('b');
    world.driver.full.add('b');
    await world.createVolume({ name: 'w' });
    expect(await zoneOf('w')).to.equal('b');
    expect(await world.volume('w')).to.include({ status: 'Provisioning' });
  });

  it('that is deleted meanwhile leaves no resource in any zone', async () => {
    for (const each of ['a', 'b', 'c']) world.driver.full.add(each);
    await world.createVolume();
    await world.deleteVolume();
    await world.clock.advance(60_000);
    expect(await world.store.get(volumes, key)).to.equal(undefined);
    expect(await zonesMade()).to.deep.equal([]);
  });
});
