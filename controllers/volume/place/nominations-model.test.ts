import { expect } from 'chai';
import fc from 'fast-check';
import { runTxn } from 'kedge';
import { settle } from 'kedge/testing';
import { instances } from '../../instance/kind.js';
import { nodes } from '../../node/kind.js';
import { CrashingProcess } from '../../testing/crashing-store.js';
import { StorageWorld } from '../../testing/storage-world.js';
import { volumeFinalizer } from '../index.js';
import { volumes } from '../kind.js';

const namespace = 'default';
const zone = 'svc.io/zone';
const ports = [{ name: 'http', port: 80, hostPort: 8080 }];
/** The nodes of each zone. */
const zones = { a: 1, b: 2, c: 1 };
const rooms = 4;

type Step =
  | { readonly type: 'create'; readonly mounts: boolean; readonly settled: boolean }
  | { readonly type: 'crash'; readonly left: number; readonly isStored: boolean }
  | { readonly type: 'wait' }
  | { readonly type: 'slow'; readonly polls: number };

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
    return new Subject(world, process);
  }

  async apply(each: Step): Promise<void> {
    switch (each.type) {
      case 'create':
        return this.#create(each.mounts, each.settled);
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

  /** Creates an instance with the port of a node, and its volume. */
  async #create(mounts: boolean, settled: boolean): Promise<void> {
    if (this.#count === rooms) return;
    const name = `i${this.#count}`;
    this.#count += 1;
    const mounted = [{ name: 'd', mountPath: '/d', claim: { name } }];
    const template = { ports, ...(mounts ? { volumes: mounted } : {}) };
    await runTxn(this.world.store, (txn) => {
      txn.create(instances, { namespace, name, service: name, ordinal: 0, template });
      if (mounts)
        txn.create(volumes, {
          ...{ namespace, name, storageClassName: 'c', size: '1Gi' },
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

  /** The nodes of all instances once nothing happens any more. */
  async outcome(): Promise<readonly (string | undefined)[]> {
    this.#process.revive();
    await this.world.restart();
    await this.#run(60_000);
    const { items } = await this.world.store.list(instances);
    return items.map(({ node }) => node);
  }
}

describe('instances with and without volumes, for which the nodes of all zones have room', () => {
  it('are all placed, on a node each, also if processes die at any write', async () => {
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
});
