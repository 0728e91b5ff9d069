import { expect } from 'chai';
import fc from 'fast-check';
import { runTxn } from 'kedge';
import { settle } from 'kedge/testing';
import { instances } from '../../instance/kind.js';
import { nodes } from '../../node/kind.js';
import { CrashingProcess } from '../../testing/crashing-store.js';
import { StorageWorld } from '../../testing/storage-world.js';
import { nominationMs } from '../../placement/index.js';
import { storageClasses } from '../../storage-class/kind.js';
import { volumeFinalizer } from '../index.js';
import { volumes } from '../kind.js';

const namespace = 'default';
const zone = 'svc.io/zone';
const ports = [{ name: 'http', port: 80, hostPort: 8080 }];
/** The number of nodes in each zone. */
const zones = { a: 1, b: 2, c: 1 };
const rooms = 4;
const yearMs = 365 * 24 * 3_600_000;

type Step =
  | { readonly type: 'create'; readonly mounts: boolean; readonly settled: boolean }
  | { readonly type: 'crash'; readonly left: number; readonly isStored: boolean }
  | { readonly type: 'wait' }
  | { readonly type: 'slow'; readonly polls: number };

interface Created {
  readonly mounts: boolean;
  readonly settled: boolean;
  readonly storageClassName?: string;
  readonly nodeSelector?: Readonly<Record<string, string>>;
}

/** Changes after which some instances may have no room. */
type Disturbance =
  | { readonly type: 'cordon'; readonly node: string; readonly closed: boolean }
  | { readonly type: 'full'; readonly zone: string; readonly isFull: boolean }
  | { readonly type: 'refuse'; readonly refused: boolean }
  | { readonly type: 'clock'; readonly byMs: number }
  | { readonly type: 'end'; readonly index: number; readonly what: 'instance' | 'volume' }
  | {
      readonly type: 'createIn';
      readonly zone: string;
      readonly by: 'class' | 'selector' | 'nothing';
    };

const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 4,
    arbitrary: fc.record({
      type: fc.constant('create' as const),
      mounts: fc.boolean(),
      settled: fc.boolean(),
    }),
  },
  {
    weight: 3,
    arbitrary: fc.record({
      type: fc.constant('crash' as const),
      left: fc.integer({ min: 1, max: 6 }),
      isStored: fc.boolean(),
    }),
  },
  { weight: 1, arbitrary: fc.constant({ type: 'wait' as const }) },
  {
    weight: 2,
    arbitrary: fc.record({
      type: fc.constant('slow' as const),
      polls: fc.integer({ min: 0, max: 4 }),
    }),
  },
);

const zoneName = fc.constantFrom('a', 'b', 'c');
const disturbance: fc.Arbitrary<Disturbance | Step> = fc.oneof(
  fc.record({
    type: fc.constant('cordon' as const),
    node: fc.constantFrom('a0', 'b0', 'b1', 'c0'),
    closed: fc.boolean(),
  }),
  fc.record({ type: fc.constant('full' as const), zone: zoneName, isFull: fc.boolean() }),
  // Some volumes are not provisioned within the test.
  fc.constant({ type: 'slow' as const, polls: 100_000 }),
  fc.record({ type: fc.constant('refuse' as const), refused: fc.boolean() }),
  // The wall clock is set, or another machine writes.
  fc.record({ type: fc.constant('clock' as const), byMs: fc.constantFrom(-yearMs, 0, yearMs) }),
  fc.record({
    type: fc.constant('end' as const),
    index: fc.nat(6),
    what: fc.constantFrom('instance' as const, 'volume' as const),
  }),
  fc.record({
    type: fc.constant('createIn' as const),
    zone: zoneName,
    by: fc.constantFrom('class' as const, 'selector' as const, 'nothing' as const),
  }),
);

/** A cluster with room for four instances, whose processes die. */
class Subject {
  readonly world: StorageWorld;
  readonly #process: CrashingProcess;
  #count = 0;

  private constructor(world: StorageWorld, process: CrashingProcess) {
    this.world = world;
    this.#process = process;
  }

  static async start(): Promise<Subject> {
    const process = new CrashingProcess();
    const world = await StorageWorld.start({ scheduler: true, seenBy: (s) => process.seenBy(s) });
    world.driver.topologyKeys = [zone];
    world.driver.placeParameters = { [zone]: ['zone'] };
    world.driver.requiredTopologyKeys = [zone];
    for (const [name, count] of Object.entries(zones))
      for (let i = 0; i < count; i += 1)
        await world.store.create(nodes, {
          name: `${name}${i}`,
          status: 'Ready',
          labels: { [zone]: name },
        });
    for (const name of Object.keys(zones))
      await world.store.create(storageClasses, {
        ...{ name: `only-${name}`, driver: 'played' },
        allowedTopologies: [{ matchLabels: { [zone]: name } }],
      });
    return new Subject(world, process);
  }

  async apply(each: Step | Disturbance): Promise<void> {
    switch (each.type) {
      case 'create':
        if (this.#count === rooms) return;
        return this.#create(each);
      case 'createIn':
        if (each.by === 'nothing') return this.#create({ mounts: false, settled: true });
        return each.by === 'class'
          ? this.#create({ mounts: true, settled: true, storageClassName: `only-${each.zone}` })
          : this.#create({ mounts: true, settled: true, nodeSelector: { [zone]: each.zone } });
      case 'cordon': {
        const found = await this.world.store.get(nodes, { name: each.node });
        if (found) await this.world.store.update(nodes, { ...found, unschedulable: each.closed });
        return settle();
      }
      case 'full':
        if (each.isFull) this.world.driver.full.add(each.zone);
        else this.world.driver.full.delete(each.zone);
        return;
      case 'refuse':
        this.world.driver.failsOn = each.refused ? { provision: 'InvalidParameters' } : {};
        return;
      case 'clock': {
        const { clock } = this.world;
        clock.now = () => clock.monotonic() + each.byMs;
        return;
      }
      case 'end':
        return this.#end(`i${each.index}`, each.what);
      case 'crash':
        this.#process.dieAt(each.left, each.isStored);
        return;
      case 'wait':
        return this.#run(2_000);
      case 'slow':
        this.world.driver.slow = { provision: each.polls };
        return;
    }
  }

  /** Deletes an instance, as its agent does at the end, or its volume. */
  async #end(name: string, what: 'instance' | 'volume'): Promise<void> {
    const { store } = this.world;
    const key = { namespace, name };
    if (what === 'volume') {
      if (await store.get(volumes, key)) await store.deleteByName(volumes, key);
      return settle();
    }
    // Writes of the scheduler may be pending.
    await settle();
    const found = await store.get(instances, key);
    if (!found) return;
    await store.update(instances, { ...found, metadata: { ...found.metadata, finalizers: [] } });
    await store.deleteByName(instances, key);
    return settle();
  }

  /** Creates an instance with the port of a node, and its volume. */
  async #create({ mounts, settled, storageClassName = 'c', nodeSelector }: Created): Promise<void> {
    const name = `i${this.#count}`;
    this.#count += 1;
    const mounted = [{ name: 'd', mountPath: '/d', claim: { name } }];
    const template = {
      ports,
      ...(mounts ? { volumes: mounted } : {}),
      ...(nodeSelector ? { nodeSelector } : {}),
    };
    await runTxn(this.world.store, (txn) => {
      txn.create(instances, { namespace, name, service: name, ordinal: 0, template });
      if (mounts)
        txn.create(volumes, {
          ...{ namespace, name, storageClassName, size: '1Gi' },
          ...{ accessMode: 'ReadWriteOnce', metadata: { finalizers: [volumeFinalizer] } },
        });
    });
    if (settled) await this.#run(0);
  }

  /** Lets time pass, and starts a process that died. */
  async #run(ms: number): Promise<void> {
    await settle();
    if (this.#process.isDead) {
      this.#process.revive();
      await this.world.restart();
    }
    if (ms > 0) await this.world.clock.advance(ms);
  }

  /**
   * The instances without a node that would fit on one besides the placed ones, each with its nodes, once the time of all
   * nominations has passed. Those whose volume is missing or is not provisioned wait for it.
   */
  async stuck(): Promise<readonly string[]> {
    // Only a process that died is started again: otherwise changes and timers alone lead to the outcome.
    this.#process.live();
    await this.#run(nominationMs + 60_000);
    const { store } = this.world;
    const { items } = await store.list(instances);
    const { items: all } = await store.list(nodes);
    const found: string[] = [];
    for (const { name, node, template } of items) {
      const volume = template.volumes ? await store.get(volumes, { namespace, name }) : undefined;
      if (node !== undefined || (template.volumes && !volume?.handle)) continue;
      const places = { ...template.nodeSelector, ...volume?.topology };
      const fitting = all.filter(
        (each) =>
          each.unschedulable !== true &&
          Object.entries(places).every(([key, value]) => each.labels?.[key] === value) &&
          !items.some((other) => other.node === each.name),
      );
      if (fitting.length > 0) found.push(`${name}: ${fitting.map((each) => each.name).join()}`);
    }
    return found;
  }

  /** The nodes of all instances once all work has settled. */
  async outcome(): Promise<readonly (string | undefined)[]> {
    this.#process.revive();
    await this.world.restart();
    await this.#run(60_000);
    const { items } = await this.world.store.list(instances);
    return items.map(({ node }) => node);
  }
}

describe('instances with and without volumes, each for a separate node', () => {
  it('are all placed if there are enough nodes, also if processes die at any write', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 4, maxLength: 20 }), async (steps) => {
        const subject = await Subject.start();
        try {
          for (const each of steps) await subject.apply(each);
          const placed = await subject.outcome();
          expect(placed).not.to.include(undefined);
          expect(new Set(placed).size).to.equal(placed.length);
        } finally {
          await subject.world.stop();
        }
      }),
      { numRuns: 20 },
    );
  }).timeout(120_000);

  it('are not kept from a node by a nomination that can not be fulfilled', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.oneof(step, disturbance, disturbance), { minLength: 8, maxLength: 25 }),
        async (steps) => {
          const subject = await Subject.start();
          try {
            for (const each of steps) await subject.apply(each);
            expect(await subject.stuck()).to.deep.equal([]);
          } finally {
            await subject.world.stop();
          }
        },
      ),
      { numRuns: 25 },
    );
  }).timeout(120_000);
});
