import { expect } from 'chai';
import fc from 'fast-check';
import {
  Manager,
  MemoryEngine,
  type ObjectStore,
  openStore,
  seededRandom,
  silentLogger,
} from 'kedge';
import { FakeClock, settle } from 'kedge/testing';
import { type Instance, instances } from '../instance/kind.js';
import { type Node, nodes } from '../node/kind.js';
import { storageClasses } from '../storage-class/kind.js';
import { volumes } from '../volume/kind.js';
import { defaultPolicy } from '../policy/policy.js';
import { volumeOfMount } from '../service/index.js';
import { schedulerController } from './controller.js';
import { placeInstance, type VolumeConstraint } from './plan.js';

const namespace = 'default';
const zone = 'svc.io/zone';
const data = { name: 'data', mountPath: '/data' };
const claim = { ...data, claim: { name: 'v' } };

/** A store with a scheduler. Only changes of objects trigger it: no timer does. */
class Cluster {
  /** Instances that the scheduler read in a commit, one entry per run. */
  readonly runs: string[] = [];

  readonly store: ObjectStore;
  readonly #clock: FakeClock;
  readonly #manager: Manager;

  private constructor(store: ObjectStore, clock: FakeClock, manager: Manager) {
    this.store = store;
    this.#clock = clock;
    this.#manager = manager;
  }

  static async start(): Promise<Cluster> {
    const clock = new FakeClock();
    const random = seededRandom(1);
    const store = await openStore({ engine: new MemoryEngine(), clock });
    const manager = new Manager({ store, clock, random });
    const cluster = new Cluster(store, clock, manager);
    const counting = new Proxy(store, {
      get: (target, property): unknown => {
        const value: unknown = Reflect.get(target, property);
        if (typeof value !== 'function') return value;
        const method = value.bind(target) as (...given: unknown[]) => unknown;
        if (property !== 'get') return method;
        return (kind: { kind: string }, key: { name: string }) => {
          if (kind.kind === 'Instance') cluster.runs.push(key.name);
          return method(kind, key);
        };
      },
    });
    const ports = { manager, clock, random, logger: silentLogger, policy: defaultPolicy };
    manager.addController(schedulerController({ ...ports, store: counting }));
    await manager.start();
    return cluster;
  }

  async stop(): Promise<void> {
    const stopping = this.#manager.stop(0);
    await this.#clock.advance(10_000);
    await stopping;
    await this.store.close();
  }

  async node(name: string, spec: Partial<Node> = {}): Promise<void> {
    await this.store.create(nodes, { name, status: 'Ready', ...spec });
  }

  async instance(name: string, template: Instance['template']): Promise<void> {
    await this.store.create(instances, { namespace, name, service: name, ordinal: 0, template });
    await settle();
  }

  /** Removes an instance, as its agent does at the end. */
  async end(name: string): Promise<void> {
    const found = await this.store.get(instances, { namespace, name });
    await this.store.update(instances, {
      ...found!,
      metadata: { ...found!.metadata, finalizers: [] },
    });
    await this.store.deleteByName(instances, { namespace, name });
  }

  async volume(name: string, storageClassName = 'c'): Promise<void> {
    const spec = { size: '1Gi', accessMode: 'ReadWriteOnce' } as const;
    await this.store.create(volumes, { namespace, name, storageClassName, ...spec });
  }

  async at(name: string, topology: Readonly<Record<string, string>>): Promise<void> {
    await this.store.updateStatus(volumes, { namespace, name }, { handle: 'h', topology });
  }

  /** A class whose volumes are provisioned in one zone. */
  async classIn(name: string, value: string): Promise<void> {
    const allowedTopologies = [{ matchLabels: { [zone]: value } }];
    const found = await this.store.get(storageClasses, { name });
    if (found) await this.store.update(storageClasses, { ...found, allowedTopologies });
    else await this.store.create(storageClasses, { name, driver: 'd', allowedTopologies });
  }

  async nodeOf(name: string): Promise<string | undefined> {
    await settle();
    return (await this.store.get(instances, { namespace, name }))?.node;
  }

  /** Unplaced instances that a full scan would place now. */
  async forgotten(): Promise<readonly string[]> {
    await settle();
    const all = (await this.store.list(nodes)).items;
    const placed = (await this.store.list(instances)).items;
    const found: string[] = [];
    for (const instance of (await this.store.list(instances)).items) {
      const constraints: VolumeConstraint[] = [];
      for (const mount of instance.template.volumes ?? []) {
        const key = volumeOfMount(mount, namespace, instance.service, instance.ordinal);
        const volume = key && (await this.store.get(volumes, key));
        if (!volume) continue;
        const name = volume.storageClassName;
        constraints.push({ volume, storageClass: await this.store.get(storageClasses, { name }) });
      }
      if (
        instance.node === undefined &&
        placeInstance(instance, all, constraints, (name) => placed.filter((i) => i.node === name))
          .type === 'node'
      )
        found.push(instance.name);
    }
    return found;
  }
}

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
    title: 'no node is ready, and one becomes it',
    before: (c) => c.node('n', { status: 'NotReady' }),
    change: ({ store }) => store.updateStatus(nodes, { name: 'n' }, { status: 'Ready' }),
  },
  {
    title: 'no node is schedulable, and one is opened',
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
    title: 'its volume is where no node is, and turns out to be elsewhere',
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
    title: 'the class of its volume allows no node, and the volume is made',
    template: { volumes: [claim] },
    before: async (c) => {
      await c.node('n', { labels: { [zone]: 'b' } });
      await c.classIn('c', 'a');
      await c.volume('v');
    },
    change: (c) => c.at('v', { [zone]: 'b' }),
  },
  {
    title: 'the class of its volume allows no node, and is widened',
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
    title: 'the volume of its claimTemplate is where no node is, and turns out to be elsewhere',
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
