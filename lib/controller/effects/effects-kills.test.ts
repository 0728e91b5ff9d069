import { expect } from 'chai';
import { type Random, seededRandom } from '../../base/index.js';
import { Manager } from '../../manager/index.js';
import { type ApiObject, defineKind } from '../../object/index.js';
import { MemoryEngine, openStore } from '../../store/index.js';
import { FakeClock, settle } from '../../testing/index.js';
import {
  done,
  type EffectOperation,
  type EffectOutcome,
  effectRecords,
  newController,
  pending,
  type ReconcileContext,
  type Result,
} from '../index.js';

interface Disk extends ApiObject {
  readonly handle?: string;
}
const disks = defineKind<Disk>({
  kind: 'Disk',
  plural: 'disks',
  scope: 'Cluster',
  statusFields: ['handle'],
});
const finalizer = 'kedge/disk';

/** Thrown at the step at which the process is killed, and by every later step. */
class Killed extends Error {}

/** One run of the process: it is killed at the step `killAt`, counted over all its external actions; 0 means never. */
class ProcessRun {
  steps = 0;
  killed = false;
  readonly #killAt: number;

  constructor(killAt: number) {
    this.#killAt = killAt;
  }

  step(): void {
    this.steps += 1;
    if (this.steps === this.#killAt) this.killed = true;
    if (this.killed) throw new Killed();
  }
}

/** Faults of a provider. */
interface ProviderFaults {
  readonly pollsMax: number;
  readonly failsLate: boolean;
  readonly forgets: boolean;
}

/** A provider that creates disks slowly. It is a separate process: it continues when its client is killed. */
class Provider {
  readonly #random: Random;
  readonly #faults: ProviderFaults;
  readonly #byKey = new Map<string, { id: string; uid: string; polls: number; ok: boolean }>();
  readonly forgotten = new Set<string>();
  /** Existing disks: their handle and the uid of their object. */
  readonly made: { uid: string; handle: string }[] = [];
  #failures = 0;

  constructor(random: Random, faults: ProviderFaults) {
    this.#random = random;
    this.#faults = faults;
  }

  operation(processRun: ProcessRun, uid: string): EffectOperation<string> {
    return {
      start: async (idempotencyKey) => {
        processRun.step();
        const id = this.#begin(idempotencyKey, uid);
        // The answer may be lost.
        processRun.step();
        return { type: 'started', operationId: id, pollAfterMs: 1_000 };
      },
      poll: async (id) => {
        processRun.step();
        const answer = this.#poll(id);
        processRun.step();
        return answer;
      },
    };
  }

  #begin(key: string, uid: string): string {
    const known = this.#byKey.get(key);
    if (known) {
      this.forgotten.delete(known.id);
      return known.id;
    }
    const fails = this.#faults.failsLate && this.#failures < 2 && this.#random.next() < 0.5;
    if (fails) this.#failures += 1;
    const polls = Math.floor(this.#random.next() * this.#faults.pollsMax);
    const operation = { id: `op-${this.#byKey.size}`, uid, polls, ok: !fails };
    this.#byKey.set(key, operation);
    // An accepted operation completes, regardless of who polls it later.
    if (!fails) this.made.push({ uid, handle: `vol-${this.made.length}` });
    return operation.id;
  }

  #poll(id: string): EffectOutcome<string> {
    if (this.#faults.forgets && this.#random.next() < 0.2) this.forgotten.add(id);
    if (this.forgotten.has(id)) return { type: 'unknown' };
    const operation = [...this.#byKey.values()].find((one) => one.id === id);
    if (!operation) throw new Error(`no operation ${id}`);
    if (operation.polls > 0) {
      operation.polls -= 1;
      return { type: 'pending', pollAfterMs: 1_000 };
    }
    if (!operation.ok) return { type: 'failed', reason: 'Full', message: 'no room' };
    const { handle } = this.made.find(({ uid }) => uid === operation.uid) ?? { handle: '' };
    return { type: 'done', result: handle };
  }
}

describe('an operation of a provider, with a kill at every step', () => {
  /** Makes each write of a store two steps of the process: before it is executed, and before its result is known. */
  function engineOf(engine: MemoryEngine, processRun: ProcessRun): void {
    engine.append = async (records) => {
      processRun.step();
      await MemoryEngine.prototype.append.call(engine, records);
      processRun.step();
    };
  }

  /**
   * Runs one process until it is finished or killed. It is finished when no effect is recorded and the disk exists,
   * or does not exist if it is being deleted. Returns whether it finished.
   */
  async function runProcess(
    engine: MemoryEngine,
    clock: FakeClock,
    provider: Provider,
    processRun: ProcessRun,
    seed: number,
    deleting: boolean,
  ): Promise<boolean> {
    engineOf(engine, new ProcessRun(0));
    const store = await openStore({ engine, clock });
    engineOf(engine, processRun);
    const manager = new Manager({ store, clock, random: seededRandom(seed) });
    const reconcile = async (context: ReconcileContext): Promise<Result> => {
      const { key } = context;
      const disk = await store.get(disks, key);
      const gone = disk?.metadata.deletionRequestedAt !== undefined;
      if (!disk || (disk.handle && !gone)) return done();
      const made = disk.handle
        ? ({ type: 'done', result: disk.handle } as const)
        : await context.effect(
            disks,
            disk,
            'make',
            provider.operation(processRun, disk.metadata.uid),
          );
      if (made.type === 'pending') return made;
      if (made.type === 'unknown') return pending(1_000);
      return context.txn(async (txn) => {
        const current = await txn.get(disks, key);
        if (!current) return done();
        if (made.type === 'done' && !current.handle)
          txn.updateStatus(disks, key, { handle: made.result });
        if (gone && (made.type === 'done' || made.type === 'failed'))
          txn.update(disks, { ...current, metadata: { ...current.metadata, finalizers: [] } });
        return made.type === 'failed' ? pending(1_000) : done();
      });
    };
    const controller = newController({
      name: 'disk',
      store,
      clock,
      random: seededRandom(seed + 1),
      backoff: { baseMs: 100, maxMs: 1_000, jitter: 0 },
      reconcile,
    }).for(manager.informer(disks));
    manager.addController(controller);
    const isOver = async (): Promise<boolean> => {
      const disk = await store.get(disks, { name: 'a' });
      const { items } = await store.list(effectRecords);
      return items.length === 0 && (deleting ? !disk : Boolean(disk?.handle));
    };
    let over = false;
    try {
      await manager.start();
      for (let turn = 0; turn < 200 && !processRun.killed && !over; turn += 1) {
        await settle();
        await clock.advance(1_000);
        over = await isOver();
      }
    } finally {
      // Work that is still in progress belongs to a killed process and changes nothing.
      processRun.killed = true;
      await manager.stop(0);
      await store.close();
    }
    return over;
  }

  async function trial(
    seed: number,
    faults: ProviderFaults,
    deleting: boolean,
    killAt: (count: number) => number,
  ): Promise<{ readonly provider: Provider; readonly steps: number; readonly processes: number }> {
    const engine = new MemoryEngine();
    const clock = new FakeClock();
    const provider = new Provider(seededRandom(seed), faults);
    const first = await openStore({ engine, clock });
    await first.create(disks, { name: 'a', metadata: { finalizers: [finalizer] } });
    if (deleting) await first.deleteByName(disks, { name: 'a' });
    await first.close();
    for (let processes = 1; processes < 50; processes += 1) {
      const processRun = new ProcessRun(killAt(processes));
      const runSeed = seed * 100 + processes;
      const over = await runProcess(engine, clock, provider, processRun, runSeed, deleting);
      if (over) return { provider, steps: processRun.steps, processes };
    }
    throw new Error(`seed ${seed}: not finished after 50 processes`);
  }

  const plain: ProviderFaults = { pollsMax: 1, failsLate: false, forgets: false };

  for (const deleting of [false, true])
    it(`creates one resource for one uid${deleting ? ' that is being deleted' : ''}`, async () => {
      const { steps } = await trial(1, plain, deleting, () => 0);
      expect(steps, 'steps of a process without a kill').to.be.greaterThan(8);
      for (let at = 1; at <= steps; at += 1) {
        const { provider, processes } = await trial(1, plain, deleting, (count) =>
          count === 1 ? at : 0,
        );
        expect(provider.made, `killed at step ${at}`).to.have.length(1);
        expect(processes, `killed at step ${at}`).to.equal(2);
      }
    }).timeout(180_000);

  it('creates one resource despite late failures, lost ids and repeated kills', async () => {
    let processes = 0;
    for (let seed = 1; seed <= 100; seed += 1) {
      const random = seededRandom(seed);
      const faults = {
        pollsMax: 4,
        failsLate: random.next() < 0.5,
        forgets: random.next() < 0.5,
      };
      const deleting = random.next() < 0.3;
      const kill = (count: number): number => (count > 12 ? 0 : 1 + Math.floor(random.next() * 14));
      const ended = await trial(seed, faults, deleting, kill);
      processes += ended.processes;
      const { made } = ended.provider;
      expect(made.length, `seed ${seed}`).to.be.at.most(1);
      // Only a failed operation ends a deletion without a disk.
      if (!deleting) expect(made.length, `seed ${seed}`).to.equal(1);
    }
    expect(processes, 'processes of all seeds').to.be.greaterThan(300);
  }).timeout(180_000);
});
