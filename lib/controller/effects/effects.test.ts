import { expect } from 'chai';
import { hasCode, seededRandom } from '../../base/index.js';
import { Manager } from '../../manager/index.js';
import { type ApiObject, defineKind } from '../../object/index.js';
import { MemoryEngine, type ObjectStore, openStore } from '../../store/index.js';
import { FakeClock, settle } from '../../testing/index.js';
import {
  done,
  type EffectOperation,
  type EffectOutcome,
  effectRecords,
  newController,
  pending,
  type ReconcileContext,
  reconcileRecords,
  type Result,
} from '../index.js';

interface Disk extends ApiObject {
  readonly size?: number;
  readonly handle?: string;
}
const disks = defineKind<Disk>({
  kind: 'Disk',
  plural: 'disks',
  scope: 'Namespaced',
  statusFields: ['handle'],
});
const a = { namespace: 'home', name: 'a' };
const finalizer = 'kedge/disk';

describe('asynchronous effects', () => {
  let engine: MemoryEngine;
  let store: ObjectStore;
  let clock: FakeClock;
  let manager: Manager;
  let polls: string[];
  let starts: string[];
  let outcome: EffectOutcome<string>;
  let broken: boolean;

  const operation: EffectOperation<string> = {
    start: (idempotencyKey) => {
      starts.push(idempotencyKey);
      return Promise.resolve({ type: 'started', operationId: `op-${starts.length}` });
    },
    poll: (operationId) => {
      polls.push(operationId);
      return broken ? Promise.reject(new Error('no route')) : Promise.resolve(outcome);
    },
  };

  beforeEach(async () => {
    engine = new MemoryEngine();
    clock = new FakeClock();
    store = await openStore({ engine, clock });
    polls = [];
    starts = [];
    broken = false;
    outcome = { type: 'pending', pollAfterMs: 5_000 };
  });
  afterEach(async () => {
    await manager.stop(0);
    await store.close();
  });

  type Reconcile = (context: ReconcileContext, disk: Disk) => Promise<Result>;

  /** Starts a controller that calls `reconcile` for keys whose disk exists. `failures` has the count of each run. */
  async function start(reconcile: Reconcile, name = 'disk'): Promise<{ failures: number[] }> {
    const failures: number[] = [];
    manager = new Manager({ store, clock, random: seededRandom(1) });
    const controller = newController({
      name,
      store,
      clock,
      random: seededRandom(2),
      backoff: { baseMs: 100, maxMs: 1_000, jitter: 0 },
      reconcile: async (context) => {
        failures.push(context.failures);
        const disk = await store.get(disks, context.key);
        return disk ? reconcile(context, disk) : done();
      },
    }).for(manager.informer(disks));
    manager.addController(controller);
    await manager.start();
    await settle();
    return { failures };
  }

  async function restart(reconcile: Reconcile, name?: string): Promise<void> {
    await manager.stop(0);
    await store.close();
    store = await openStore({ engine, clock });
    await start(reconcile, name);
  }

  const make: Reconcile = async (context, disk) => {
    if (disk.handle) return done();
    const made = await context.effect(disks, disk, 'make', operation);
    if (made.type === 'pending') return made;
    return context.txn((txn) => {
      if (made.type === 'done') txn.updateStatus(disks, context.key, { handle: made.result });
      return made.type === 'done' ? done() : pending(1_000);
    });
  };

  const records = async () => (await store.list(effectRecords)).items;
  const phases = async (): Promise<readonly string[]> =>
    (await records()).flatMap(({ effects }) => Object.values(effects).map(({ phase }) => phase));

  it('the id is durable before the first poll', async () => {
    await store.create(disks, a);
    const seen: unknown[] = [];
    await start(
      (context, disk) =>
        context.effect(disks, disk, 'make', {
          ...operation,
          poll: async () => {
            seen.push((await records())[0]?.effects['make']);
            return { type: 'pending', pollAfterMs: 5_000 } as const;
          },
        }) as Promise<Result>,
    );
    expect(seen).to.have.length(1);
    expect(seen[0]).to.include({ phase: 'pending', operationId: 'op-1', controller: 'disk' });
  });

  it('pending ends the run, frees the worker, counts no failure, and polls on time', async () => {
    await store.create(disks, a);
    const { failures } = await start(make);
    expect(polls).to.deep.equal(['op-1']);
    await store.create(disks, { ...a, name: 'b' });
    await settle();
    expect(polls, 'the only worker is free').to.deep.equal(['op-1', 'op-2']);
    await clock.advance(4_900);
    expect(polls).to.have.length(2);
    outcome = { type: 'done', result: 'vol-1' };
    await clock.advance(200);
    expect(starts).to.have.length(2);
    expect((await store.get(disks, a))?.handle).to.equal('vol-1');
    expect(new Set(failures)).to.deep.equal(new Set([0]));
    expect(await records(), 'removed by the commit').to.deep.equal([]);
  });

  it('a restart polls at once under the stored id, and the due time of a long delay is stored', async () => {
    await store.create(disks, a);
    await start(make);
    await restart(make);
    expect(polls).to.deep.equal(['op-1', 'op-1']);
    outcome = { type: 'pending', pollAfterMs: 600_000 };
    await clock.advance(5_000);
    expect(polls).to.have.length(3);
    await manager.stop(0);
    await store.deleteByName(disks, a);
    const object = await store.create(disks, a);
    expect(object.handle).to.equal(undefined);
    expect((await store.list(reconcileRecords)).items[0]?.dueAt).to.equal(clock.now() + 600_000);
  });

  it('a failed poll is a retry that leaves the operation unchanged', async () => {
    await store.create(disks, a);
    broken = true;
    const { failures } = await start(make);
    await clock.advance(250);
    expect(failures).to.deep.equal([0, 1]);
    broken = false;
    outcome = { type: 'done', result: 'vol-1' };
    await clock.advance(1_000);
    expect(starts).to.have.length(1);
    expect((await store.get(disks, a))?.handle).to.equal('vol-1');
  });

  it('the commit removes a failed operation, which then starts under a new key', async () => {
    await store.create(disks, a);
    outcome = { type: 'failed', reason: 'NoCapacity', message: 'the zone is full' };
    await start(make);
    outcome = { type: 'done', result: 'vol-2' };
    await clock.advance(1_000);
    expect(new Set(starts).size).to.equal(2);
    expect((await store.get(disks, a))?.handle).to.equal('vol-2');
  });

  it('an operation whose id the provider lost is started again under the same key', async () => {
    await store.create(disks, a);
    outcome = { type: 'unknown' };
    await start(make);
    outcome = { type: 'done', result: 'vol-1' };
    await clock.advance(1_000);
    expect(starts).to.have.length(2);
    expect(new Set(starts).size).to.equal(1);
  });

  it('a transaction removes the outcomes that its run received, and keeps unfinished effects', async () => {
    await store.create(disks, a);
    await start(async (context, disk) => {
      const made = await context.effect(disks, disk, 'make', operation);
      const paid = await context.effect(disks, disk, 'pay', () => Promise.resolve('receipt'));
      await context.txn((txn) => txn.updateStatus(disks, context.key, { handle: paid }));
      return made.type === 'pending' ? made : done();
    });
    const [record] = await records();
    expect(Object.keys(record?.effects ?? {})).to.deep.equal(['make']);
    expect(record?.name).to.equal((await store.get(disks, a))?.metadata.uid);
  });

  it('an outcome whose run did not commit survives the transaction of a run that does not call the effect', async () => {
    await store.create(disks, a);
    let pay = true;
    await start(async (context, disk) => {
      if (pay) {
        await context.effect(disks, disk, 'pay', () => Promise.resolve('receipt'));
        throw new Error('killed');
      }
      return context.txn((txn) => {
        txn.updateStatus(disks, context.key, { handle: 'other' });
        return done();
      });
    });
    pay = false;
    await clock.advance(1_000);
    expect((await store.get(disks, a))?.handle).to.equal('other');
    expect(await phases()).to.deep.equal(['done']);
  });

  it('another controller that takes over the object continues the operation', async () => {
    await store.create(disks, a);
    await start(make, 'central');
    await restart(make, 'node');
    expect(starts).to.have.length(1);
    expect((await records())[0]?.effects['make']).to.include({ controller: 'node' });
    await restart(make, 'node');
    outcome = { type: 'done', result: 'vol-1' };
    await clock.advance(5_000);
    expect(starts).to.have.length(1);
    expect((await store.get(disks, a))?.handle).to.equal('vol-1');
    expect(await records()).to.deep.equal([]);
  });

  it('for a recreated object the operation starts again, and the record of the first object is removed', async () => {
    await store.create(disks, a);
    await start(make);
    await store.deleteByName(disks, a);
    const second = await store.create(disks, a);
    await clock.advance(5_000);
    expect(new Set(starts).size).to.equal(2);
    expect((await records()).map(({ name }) => name)).to.deep.equal([second.metadata.uid]);
  });

  it('the record of an object that was deleted while no process ran is removed at the next start', async () => {
    await store.create(disks, a);
    await start(make);
    await manager.stop(0);
    await store.deleteByName(disks, a);
    await restart(make);
    expect(await records()).to.deep.equal([]);
  });

  it('an effect that an earlier release stored by name is continued', async () => {
    const disk = await store.create(disks, a);
    const kept = (idempotencyKey: string, more: object) => ({
      name: 'disk:home/a',
      controller: 'disk',
      key: 'home/a',
      effects: { make: { idempotencyKey, done: false, ...more } },
    });
    await store.create(reconcileRecords, kept('old-key', {}));
    await start(make);
    expect(starts).to.deep.equal(['old-key']);
    expect((await store.list(reconcileRecords)).items).to.deep.equal([]);
    expect((await records())[0]?.name).to.equal(disk.metadata.uid);
  });

  it('an effect of an earlier release that is older than the object does not belong to it', async () => {
    const effects = { make: { idempotencyKey: 'old-key', done: true, result: 'vol-0' } };
    const record = { name: 'disk:home/a', controller: 'disk', key: 'home/a', effects };
    await store.create(reconcileRecords, record);
    await clock.advance(10);
    await store.create(disks, a);
    await start(make);
    expect(starts).to.have.length(1).and.to.not.include('old-key');
  });

  describe('and finalizers', () => {
    let refusal: Error | undefined;
    const release =
      (forget: boolean): Reconcile =>
      async (context, disk) => {
        refusal = undefined;
        if (disk.metadata.deletionRequestedAt === undefined) return make(context, disk);
        return context
          .txn((txn) => {
            const metadata = { ...disk.metadata, finalizers: [] };
            txn.update(disks, { ...disk, metadata });
            if (forget) txn.forgetEffect(disks, disk, 'make');
            return done();
          })
          .catch((error: unknown) => {
            refusal = error as Error;
            return done();
          });
      };

    beforeEach(() => store.create(disks, { ...a, metadata: { finalizers: [finalizer] } }));

    it('a transaction cannot remove a finalizer while an effect is pending; the error names the effect', async () => {
      await start(release(false));
      await store.deleteByName(disks, a);
      await settle();
      expect(hasCode(refusal, 'FailedPrecondition') && refusal.reason).to.equal('EffectPending');
      expect(refusal?.message).to.contain('Disk "home/a" keeps its finalizer kedge/disk');
      expect(refusal?.message).to.contain('effect "make" is pending');
      expect(await store.get(disks, a)).to.not.equal(undefined);
      expect(await phases()).to.deep.equal(['pending']);
    });

    it('a transaction that forgets the effect removes the finalizer, and the record is removed with the object', async () => {
      await start(release(true));
      await store.deleteByName(disks, a);
      const before = store.revision;
      await settle();
      expect(refusal).to.equal(undefined);
      expect(await store.get(disks, a)).to.equal(undefined);
      expect(await records()).to.deep.equal([]);
      expect(store.revision, 'one commit').to.equal(before + 1);
    });

    it('an effect that starts between the check and the commit is detected', async () => {
      await start(release(false));
      outcome = { type: 'done', result: 'vol-1' };
      await clock.advance(5_000);
      expect(await records()).to.deep.equal([]);
      const transact = store.transact.bind(store);
      let interfered = false;
      store.transact = async (operations) => {
        const removes = operations.some(({ op, kind }) => op === 'update' && kind.kind === 'Disk');
        if (removes && !interfered) {
          interfered = true;
          const { uid } = (await store.get(disks, a))!.metadata;
          const state = { phase: 'pending', operationId: '9', idempotencyKey: 'k' } as const;
          const effects = {
            grow: { ...state, controller: 'other', key: 'home/a', startedAt: 0 },
          };
          await store.create(effectRecords, { name: uid, of: 'Disk', key: 'home/a', effects });
        }
        return transact(operations);
      };
      await store.deleteByName(disks, a);
      await settle();
      expect(interfered).to.equal(true);
      expect(refusal?.message).to.contain('effect "grow" is pending');
      expect(await store.get(disks, a)).to.not.equal(undefined);
    });

    it('operation ids that the reconciler sets keep the finalizer too, until they are cleared', async () => {
      const set: Reconcile = async (context, disk) => {
        const ids = context.operations(disks, disk);
        if (disk.metadata.deletionRequestedAt === undefined) {
          expect(await ids.get('attach')).to.equal(undefined);
          await ids.set('attach', '42');
          expect(await ids.get('attach')).to.equal('42');
          return done();
        }
        const result = await release(false)(context, disk);
        if (refusal === undefined) return result;
        expect(refusal?.message).to.contain('effect "attach" is pending');
        await ids.clear('attach');
        return release(false)(context, disk);
      };
      await start(set);
      await restart(set);
      await store.deleteByName(disks, a);
      await settle();
      expect(await store.get(disks, a)).to.equal(undefined);
      expect(await records()).to.deep.equal([]);
    });
  });
});
