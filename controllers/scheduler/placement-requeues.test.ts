import { expect } from 'chai';
import fc from 'fast-check';
import { findCondition } from 'kedge';
import { settle } from 'kedge/testing';
import { type Instance, instances } from '../instance/kind.js';
import { nodes } from '../node/kind.js';
import { storageClasses } from '../storage-class/kind.js';
import { volumes } from '../volume/kind.js';
import { ScheduledCluster as Cluster } from '../testing/scheduled-cluster.js';

const namespace = 'default';
const zone = 'svc.io/zone';
const data = { name: 'data', mountPath: '/data' };
const claim = { ...data, claim: { name: 'v' } };

interface Freed {
  /** The event that the instance waits for. */
  readonly title: string;
  readonly template?: Instance['template'];
  readonly before: (cluster: Cluster) => Promise<void>;
  readonly change: (cluster: Cluster) => Promise<unknown>;
}

const inZoneA: Instance['template'] = { nodeSelector: { [zone]: 'a' } };

const relabel = async ({ store }: Cluster): Promise<void> => {
  const node = await store.get(nodes, { name: 'n' });
  await store.update(nodes, { ...node!, labels: { [zone]: 'a' } });
};

const freed: readonly Freed[] = [
  {
    title: 'there is no node, and one registers',
    before: async () => undefined,
    change: (c) => c.node('n'),
  },
  {
    title: 'no node is ready, and one becomes ready',
    before: (c) => c.node('n', { status: 'NotReady' }),
    change: ({ store }) => store.updateStatus(nodes, { name: 'n' }, { status: 'Ready' }),
  },
  {
    title: 'no node is schedulable, and one is uncordoned',
    before: (c) => c.node('n', { unschedulable: true }),
    change: async ({ store }) => {
      const node = await store.get(nodes, { name: 'n' });
      await store.update(nodes, { ...node!, unschedulable: false });
    },
  },
  {
    title: 'the node has no room, and an instance there ends',
    template: { resources: { cpu: { request: '2' } } },
    before: async (c) => {
      await c.node('n', { capacity: { cpu: '3' } });
      await c.instance('first', { resources: { cpu: { request: '2' } } });
    },
    change: (c) => c.end('first'),
  },
  {
    title: 'its port is taken, and the instance that has it ends',
    template: { runtime: 'process', ports: [{ name: 'p', port: 80 }] },
    before: async (c) => {
      await c.node('n');
      await c.instance('first', { ports: [{ name: 'p', port: 8080, hostPort: 80 }] });
    },
    change: (c) => c.end('first'),
  },
  {
    title: 'the node has no room, and reports more',
    template: { resources: { memory: { limit: '2Gi' } } },
    before: (c) => c.node('n', { capacity: { memory: '1Gi' } }),
    change: ({ store }) =>
      store.updateStatus(nodes, { name: 'n' }, { capacity: { memory: '2Gi' } }),
  },
  {
    title: 'no node matches its nodeSelector, and one is labelled',
    template: inZoneA,
    before: (c) => c.node('n'),
    change: relabel,
  },
  {
    title: 'its volume is where no node is, and a node is labelled',
    template: { volumes: [claim] },
    before: async (c) => {
      await c.node('n');
      await c.volume('v');
      await c.at('v', { [zone]: 'a' });
    },
    change: relabel,
  },
  {
    title: 'its volume is where no node is, and is observed elsewhere',
    template: { volumes: [claim] },
    before: async (c) => {
      await c.node('n', { labels: { [zone]: 'b' } });
      await c.volume('v');
      await c.at('v', { [zone]: 'a' });
    },
    change: (c) => c.at('v', { [zone]: 'b' }),
  },
  {
    title: 'its volume is where no node is, and is removed',
    template: { volumes: [claim] },
    before: async (c) => {
      await c.node('n');
      await c.volume('v');
      await c.at('v', { [zone]: 'a' });
    },
    change: ({ store }) => store.deleteByName(volumes, { namespace, name: 'v' }),
  },
  {
    title: 'the class of its volume allows no node, and the volume is provisioned',
    template: { volumes: [claim] },
    before: async (c) => {
      await c.node('n', { labels: { [zone]: 'b' } });
      await c.classIn('c', 'a');
      await c.volume('v');
    },
    change: (c) => c.at('v', { [zone]: 'b' }),
  },
  {
    title: 'the class of its volume allows no node, and its topologies are extended',
    template: { volumes: [claim] },
    before: async (c) => {
      await c.node('n', { labels: { [zone]: 'b' } });
      await c.classIn('c', 'a');
      await c.volume('v');
    },
    change: (c) => c.classIn('c', 'b'),
  },
  {
    title: 'the class of its volume allows no node, and is removed',
    template: { volumes: [claim] },
    before: async (c) => {
      await c.node('n');
      await c.classIn('c', 'a');
      await c.volume('v');
    },
    change: ({ store }) => store.deleteByName(storageClasses, { name: 'c' }),
  },
  {
    title: 'no node is in the zone that the class of its volume names, and the class names another',
    template: { volumes: [claim] },
    before: async (c) => {
      await c.node('n', { labels: { [zone]: 'b' } });
      await c.classNaming('c', 'a');
      await c.volume('v');
    },
    change: (c) => c.classNaming('c', 'b'),
  },
  {
    title:
      'no node is in the zone that the class of its volume names, and the volume names another',
    template: { volumes: [claim] },
    before: async (c) => {
      await c.node('n', { labels: { [zone]: 'b' } });
      await c.classNaming('c', 'a');
      await c.volume('v');
    },
    change: async ({ store }) => {
      const volume = await store.get(volumes, { namespace, name: 'v' });
      await store.update(volumes, { ...volume!, parameters: { zone: 'b' } });
    },
  },
  {
    title: 'the zone of its volume is a secret reference, and the volume is started',
    template: { volumes: [claim] },
    before: async (c) => {
      await c.node('n', { labels: { [zone]: 'b' } });
      await c.classNaming('c', 'secret:place/zone');
      await c.volume('v');
    },
    change: ({ store }) =>
      store.updateStatus(volumes, { namespace, name: 'v' }, { topology: { [zone]: 'b' } }),
  },
  {
    title: 'the volume of its claimTemplate is where no node is, and then observed elsewhere',
    template: {
      volumes: [{ ...data, claimTemplate: { size: '1Gi', accessMode: 'ReadWriteOnce' } }],
    },
    before: async (c) => {
      await c.node('n', { labels: { [zone]: 'b' } });
      await c.volume('data-i-0');
      await c.at('data-i-0', { [zone]: 'a' });
    },
    change: (c) => c.at('data-i-0', { [zone]: 'b' }),
  },
];

describe('an instance without a node', () => {
  let cluster: Cluster;

  beforeEach(async () => {
    cluster = await Cluster.start();
  });
  afterEach(() => cluster.stop());

  for (const { title, template = {}, before, change } of freed)
    it(`is placed when ${title}`, async () => {
      await before(cluster);
      await cluster.instance('i', template);
      expect(await cluster.nodeOf('i')).to.equal(undefined);
      await change(cluster);
      expect(await cluster.nodeOf('i')).to.equal('n');
    });

  it('is not placed without its volume if a class takes the zone of a volume from a node', async () => {
    await cluster.stop();
    cluster = await Cluster.start(true);
    const { store } = cluster;
    await store.create(storageClasses, { name: 'c', driver: 'played' });
    await cluster.node('n', { labels: { [zone]: 'a' } });
    await cluster.node('m', { labels: { [zone]: 'b' } });
    for (const name of ['i', 'j']) {
      const mount = { ...data, claim: { name: `of-${name}` } };
      await cluster.instance(name, { volumes: [mount] });
      expect(await cluster.nodeOf(name)).to.equal(undefined);
      const { conditions } = (await store.get(instances, { namespace, name }))!;
      expect(findCondition(conditions, 'Scheduled')).to.include({
        ...{ status: 'False', reason: 'VolumeNotReady' },
        message: `volume default/of-${name} does not exist yet`,
      });
    }
    await cluster.volume('of-i');
    expect(await cluster.nodeOf('i')).to.equal(undefined);
    await cluster.at('of-i', { [zone]: 'b' });
    expect(await cluster.nodeOf('i')).to.equal('m');
    expect(await cluster.nodeOf('j')).to.equal(undefined);
    const named = {
      ...(await store.get(storageClasses, { name: 'c' }))!,
      parameters: { zone: 'a' },
    };
    await store.update(storageClasses, named);
    expect(await cluster.nodeOf('j')).to.be.a('string');
  });

  it('is not reconciled for volumes of others, nor for irrelevant changes of its own', async () => {
    await cluster.instance('i', { volumes: [claim] });
    await cluster.instance('j', {});
    await cluster.volume('v');
    await settle();
    cluster.runs.length = 0;
    await cluster.volume('other');
    await cluster.at('other', { [zone]: 'a' });
    await cluster.store.updateStatus(volumes, { namespace, name: 'v' }, { attempts: 1 });
    await settle();
    expect(cluster.runs).to.deep.equal([]);
    await cluster.at('v', { [zone]: 'a' });
    await settle();
    expect(new Set(cluster.runs)).to.deep.equal(new Set(['i']));
  });
});

describe('instances without a node, in any order of changes', () => {
  const names = fc.constantFrom('v', 'w');
  const zones = fc.constantFrom('a', 'b');
  type Change = (cluster: Cluster) => Promise<unknown>;
  const change: fc.Arbitrary<Change> = fc.oneof(
    fc.record({ name: fc.constantFrom('n', 'm'), at: zones, open: fc.boolean() }).map(
      ({ name, at, open }): Change =>
        async ({ store }) => {
          const spec = { name, labels: { [zone]: at }, unschedulable: !open };
          const node = await store.get(nodes, { name });
          if (node) await store.update(nodes, { ...node, ...spec });
          else await store.create(nodes, { ...spec, status: 'Ready' });
        },
    ),
    names.map(
      (name): Change =>
        async (cluster) =>
          (await cluster.store.get(volumes, { namespace, name })) ?? cluster.volume(name),
    ),
    fc.record({ name: names, at: zones }).map(
      ({ name, at }): Change =>
        async (cluster) => {
          const volume = await cluster.store.get(volumes, { namespace, name });
          if (volume) await cluster.at(name, { [zone]: at });
        },
    ),
    names.map(
      (name): Change =>
        async ({ store }) => {
          const volume = await store.get(volumes, { namespace, name });
          if (volume) await store.deleteByName(volumes, { namespace, name });
        },
    ),
    zones.map(
      (at): Change =>
        (cluster) =>
          cluster.classIn('c', at),
    ),
    fc.record({ n: fc.nat(5), mounts: fc.subarray(['v', 'w']) }).map(
      ({ n, mounts }): Change =>
        async ({ store }) => {
          const key = { namespace, name: `i${n}` };
          if (await store.get(instances, key)) return;
          const mounted = mounts.map((name) => ({ name, mountPath: `/${name}`, claim: { name } }));
          const template = { volumes: mounted };
          await store.create(instances, { ...key, service: key.name, ordinal: 0, template });
        },
    ),
  );

  it('are all placed that can be', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.tuple(change, fc.boolean()), { minLength: 4, maxLength: 25 }),
        async (changes) => {
          const cluster = await Cluster.start();
          try {
            for (const [apply, settled] of changes) {
              await apply(cluster);
              if (settled) expect(await cluster.forgotten()).to.deep.equal([]);
            }
            expect(await cluster.forgotten()).to.deep.equal([]);
          } finally {
            await cluster.stop();
          }
        },
      ),
      { numRuns: 60 },
    );
  });
});
