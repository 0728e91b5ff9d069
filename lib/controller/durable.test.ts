import { expect } from 'chai';
import { seededRandom, StatusError } from '../base/index.js';
import { Manager } from '../manager/index.js';
import { type ApiObject, type Condition, defineKind, findCondition } from '../object/index.js';
import { MemoryEngine, type ObjectStore, openStore } from '../store/index.js';
import { FakeClock, RecordingMetrics, settle } from '../testing/index.js';
import {
  type Controller,
  describeCauses,
  effectRecords,
  done,
  fail,
  newController,
  type ReconcileContext,
  reconcileRecords,
  requeueAfter,
  type Result,
} from './index.js';

interface Lamp extends ApiObject {
  readonly on?: boolean;
  readonly lit?: boolean;
  readonly conditions?: readonly Condition[];
}
const lamps = defineKind<Lamp>({
  kind: 'Lamp',
  plural: 'lamps',
  scope: 'Cluster',
  statusFields: ['lit', 'conditions'],
});
const lamp = { name: 'hall' };

describe('controller with a store', () => {
  let engine: MemoryEngine;
  let store: ObjectStore;
  let clock: FakeClock;
  let manager: Manager;
  let runs: string[];
  let metrics: RecordingMetrics;
  const open: { close(): Promise<void> }[] = [];

  beforeEach(async () => {
    engine = new MemoryEngine();
    clock = new FakeClock();
    store = await openStore({ engine, clock });
    runs = [];
  });
  afterEach(async () => {
    await manager.stop(0);
    await store.close();
    open.length = 0;
  });

  async function start(
    reconcile: (context: ReconcileContext) => Promise<Result>,
  ): Promise<Controller> {
    metrics = new RecordingMetrics();
    manager = new Manager({ store, clock, random: seededRandom(3), metrics });
    const controller = newController({
      name: 'lamp',
      store,
      conditionsOf: lamps,
      backoff: { baseMs: 100, maxMs: 1_000_000, jitter: 0 },
      clock,
      random: seededRandom(3),
      metrics,
      reconcile: (context) => {
        runs.push(describeCauses(context.causes));
        return reconcile(context);
      },
    }).for(manager.informer(lamps));
    manager.addController(controller);
    await manager.start();
    await settle();
    return controller;
  }

  /** Simulates a crash: stops the manager with no budget, reopens the store and starts a new manager. */
  async function crash(reconcile: (context: ReconcileContext) => Promise<Result>): Promise<void> {
    await manager.stop(0);
    await store.close();
    store = await openStore({ engine, clock });
    runs = [];
    await start(reconcile);
  }

  const light = (context: ReconcileContext): Promise<Result> =>
    context.txn(async (txn) => {
      const found = await txn.get(lamps, context.key);
      if (found && found.lit !== found.on)
        txn.updateStatus(lamps, context.key, { lit: found.on ?? false });
      return done();
    });

  it('is not queued by its own writes, but by those of others', async () => {
    await start(light);
    const made = await store.create(lamps, { ...lamp, on: true });
    await settle();
    expect((await store.get(lamps, lamp))?.lit).to.equal(true);
    expect(runs).to.have.length(1);
    await store.updateStatus(lamps, lamp, { lit: false });
    await settle();
    expect(runs).to.have.length(2);
    expect((await store.get(lamps, lamp))?.lit).to.equal(true);
    expect(runs[0]).to.equal(`added Lamp hall@${made.metadata.resourceVersion}`);
  });

  it('retries a transaction after a conflict, with the present state', async () => {
    let interfered = false;
    await store.create(lamps, { ...lamp, on: true });
    const seen: (boolean | undefined)[] = [];
    await start((context) =>
      context.txn(async (txn) => {
        const found = await txn.get(lamps, context.key);
        seen.push(found?.on);
        if (!interfered && found) {
          interfered = true;
          await store.update(lamps, { ...found, on: false });
        }
        txn.updateStatus(lamps, context.key, { lit: found?.on ?? false });
        return done();
      }),
    );
    await settle();
    expect(seen.slice(0, 2)).to.deep.equal([true, false]);
    expect((await store.get(lamps, lamp))?.lit).to.equal(false);
  });

  it('commits only if its reads are still valid, including those of missing objects', async () => {
    let interfered = false;
    await start((context) =>
      context.txn(async (txn) => {
        const other = await txn.get(lamps, { name: 'other' });
        if (!interfered) {
          interfered = true;
          await store.create(lamps, { name: 'other' });
        }
        if (!other) txn.create(lamps, { name: 'other', on: true });
        return done();
      }),
    );
    await store.create(lamps, lamp);
    await settle();
    expect((await store.get(lamps, { name: 'other' }))?.on).to.equal(undefined);
  });

  it('a long requeue is stored in the transaction of the object, and keeps its due time across a restart', async () => {
    const pollEachHour = (context: ReconcileContext): Promise<Result> =>
      context.txn(async (txn) => {
        const found = await txn.get(lamps, context.key);
        if (!found) return done();
        txn.updateStatus(lamps, context.key, { lit: !found.lit });
        return requeueAfter(3_600_000);
      });
    await store.create(lamps, lamp);
    const before = store.revision;
    await start(pollEachHour);
    await settle();
    expect(store.revision, 'one commit').to.equal(before + 1);
    await clock.advance(1_800_000);
    const stored = await store.list(reconcileRecords);
    expect(stored.items.map((r) => [r.controller, r.key])).to.deep.equal([['lamp', 'hall']]);
    // The object is deleted, so that only the timer can queue its key after the restart.
    await manager.stop(0);
    await store.deleteByName(lamps, lamp);
    await crash(async () => done());
    expect(runs).to.deep.equal([]);
    await clock.advance(1_799_000);
    expect(runs).to.deep.equal([]);
    await clock.advance(1_001);
    expect(runs).to.deep.equal(['restored']);
    await settle();
    expect((await store.list(reconcileRecords)).items, 'removed after the run').to.deep.equal([]);
  });

  it('the failure count of a long backoff survives a restart, and a success removes its record', async () => {
    const failures: number[] = [];
    const failing = async (context: ReconcileContext): Promise<Result> => {
      failures.push(context.failures);
      throw new Error('no power');
    };
    await store.create(lamps, lamp);
    await start(failing);
    await clock.advance(103_000);
    const count = failures.length;
    expect(count).to.be.greaterThan(9);
    await crash(failing);
    expect(failures.at(-1)).to.equal(count);
    await crash(async () => done());
    expect((await store.list(reconcileRecords)).items).to.deep.equal([]);
  });

  describe('effects', () => {
    const calls: string[] = [];
    beforeEach(() => (calls.length = 0));
    const provision = (die: (at: string) => void) => async (context: ReconcileContext) => {
      const lit = await store.get(lamps, context.key);
      if (!lit) return done();
      const handle = await context.effect(lamps, lit, 'provision', async (idempotencyKey) => {
        calls.push(idempotencyKey);
        die('in call');
        return { handle: `vol-${calls.length}` };
      });
      die('after call');
      await context.txn(async (txn) => {
        const found = await txn.get(lamps, context.key);
        if (found) txn.updateStatus(lamps, context.key, { lit: handle.handle !== '' });
      });
      return done();
    };

    it('after a crash between call and commit the stored result is used: one call', async () => {
      await store.create(lamps, lamp);
      await start(
        provision((at) => {
          if (at === 'after call') throw new Error('killed');
        }),
      );
      await settle();
      expect(calls).to.have.length(1);
      await crash(provision(() => undefined));
      await settle();
      expect(calls).to.have.length(1);
      expect((await store.get(lamps, lamp))?.lit).to.equal(true);
      expect((await store.list(effectRecords)).items).to.deep.equal([]);
    });

    it('after a crash in the call the call is repeated under the same idempotency key', async () => {
      await store.create(lamps, lamp);
      await start(
        provision((at) => {
          if (at === 'in call') throw new Error('killed');
        }),
      );
      await settle();
      await crash(provision(() => undefined));
      await settle();
      expect(calls.length).to.be.greaterThanOrEqual(2);
      expect(new Set(calls).size).to.equal(1);
    });

    it('several in one run are all kept, also concurrent ones', async () => {
      let died = false;
      const both = async (context: ReconcileContext): Promise<Result> => {
        const call = (id: string) => (calls.push(id), Promise.resolve(id));
        const hall = (await store.get(lamps, lamp))!;
        const names = ['disk', 'address'];
        await Promise.all(names.map((name) => context.effect(lamps, hall, name, call)));
        if (!died) throw new Error('killed');
        return context.txn(() => done());
      };
      await store.create(lamps, lamp);
      await start(both);
      await settle();
      expect(new Set(calls).size).to.equal(2);
      died = true;
      await crash(both);
      await settle();
      expect(calls).to.have.length(2);
      expect((await store.list(effectRecords)).items).to.deep.equal([]);
    });

    it('after a write of unknown outcome the record is read again, committed or not', async () => {
      for (const happened of [false, true]) {
        calls.length = 0;
        const append = engine.append.bind(engine);
        let fail = true;
        engine.append = async (records) => {
          const intent = records.some(({ bytes }) => bytes.includes('EffectRecord'));
          if (!fail || !intent) return append(records);
          fail = false;
          if (happened) await append(records);
          throw new Error('no answer');
        };
        const name = happened ? 'b' : 'a';
        await store.create(lamps, { name });
        await start(provision(() => undefined));
        await clock.advance(200_000);
        await settle();
        expect(store.health().state).to.equal('serving');
        expect((await store.get(lamps, { name }))?.lit, `happened: ${happened}`).to.equal(true);
        expect(new Set(calls).size, 'one idempotency key per object').to.be.at.most(2);
        expect((await store.list(effectRecords)).items).to.deep.equal([]);
        engine.append = append;
        if (!happened) await manager.stop(0);
      }
    });

    it('an invalid record does not prevent a start', async () => {
      const effects = { light: null, glow: { phase: 'called', controller: 'lamp' } };
      const record = { name: 'u1', of: 'Lamp', key: 'hall', effects: effects as never };
      await store.create(effectRecords, record);
      await start(() => Promise.resolve(done()));
      await settle();
      expect((await store.get(effectRecords, record))?.effects).to.deep.equal(effects);
    });

    it('after the commit the next call gets a new key', async () => {
      await store.create(lamps, lamp);
      const controller = await start(provision(() => undefined));
      await settle();
      controller.enqueue(lamp);
      await settle();
      expect(new Set(calls).size).to.equal(2);
    });
  });

  it('fail sets the condition Stalled without queueing its own key, and success sets it to False', async () => {
    let broken = true;
    await start(async () => (broken ? fail('NoBulb', 'the bulb is missing') : done()));
    await store.create(lamps, lamp);
    await settle();
    const stalled = async () =>
      findCondition((await store.get(lamps, lamp))?.conditions, 'Stalled');
    expect(await stalled()).to.include({ status: 'True', reason: 'NoBulb' });
    expect(runs).to.have.length(1);
    broken = false;
    const found = (await store.get(lamps, lamp))!;
    await store.update(lamps, { ...found, on: true });
    await settle();
    expect(await stalled()).to.include({ status: 'False' });
    expect(runs).to.have.length(2);
  });

  it('has the metric names of client-go and controller-runtime', async () => {
    await start(async ({ key }) => (key.name === 'bad' ? fail('Bad', 'bad') : done()));
    await store.create(lamps, lamp);
    await store.create(lamps, { name: 'bad' });
    await settle();
    const name = { name: 'lamp' };
    expect(metrics.value('workqueue_adds_total', name)).to.equal(2);
    expect(metrics.value('workqueue_depth', name)).to.equal(0);
    expect(metrics.value('workqueue_queue_duration_seconds', name)).to.equal(2);
    const controller = { controller: 'lamp' };
    const total = 'controller_runtime_reconcile_total';
    expect(metrics.value(total, { ...controller, result: 'success' })).to.equal(1);
    expect(metrics.value(total, { ...controller, result: 'terminal_error' })).to.equal(1);
    expect(metrics.value('controller_runtime_active_workers', controller)).to.equal(0);
  });

  it('without a store, txn fails with an error that has the remedy', async () => {
    manager = new Manager({ store, clock });
    const untyped = newController({
      name: 'plain',
      clock,
      reconcile: async (request) => {
        const context = request as unknown as ReconcileContext;
        const error = await Promise.resolve()
          .then(() => context.txn(() => undefined))
          .catch((e: unknown) => e);
        runs.push(String(error));
        return done();
      },
    });
    await untyped.start();
    untyped.enqueue(lamp);
    await settle();
    expect(runs[0]).to.contain('pass one to newController');
    expect(StatusError.from(new Error('x')).code).to.equal('Internal');
    await untyped.stop(0);
  });
});
