import { expect } from 'chai';
import fc from 'fast-check';
import { hasCode } from '../base/index.js';
import { type ApiObject, defineKind } from '../object/index.js';
import { FakeClock, settle } from '../testing/index.js';
import {
  type EmbeddedStore,
  type Engine,
  MemoryEngine,
  type ObjectStore,
  openStore,
  type Operation,
} from './index.js';

interface Thing extends ApiObject {
  readonly value?: number;
}
const things = defineKind<Thing>({
  kind: 'Thing',
  plural: 'things',
  scope: 'Namespaced',
  statusFields: [],
});
const key = (name: string) => ({ namespace: 'default', name });
const thing = (name: string, value: number) => ({ ...key(name), value });

type Fault = 'before' | 'after';

/** An engine whose call number `failAt` and the later ones fail, `failures` in all, before or after their execution. */
function faulty(
  inner: Engine,
  failAt: number,
  fault: Fault,
  failures = 1,
): Engine & { calls: number } {
  let calls = 0;
  const call = async <R>(work: () => Promise<R>): Promise<R> => {
    calls += 1;
    const fails = calls >= failAt && calls < failAt + failures;
    if (fails && fault === 'before') throw new Error(`fault at call ${calls}`);
    const result = await work();
    if (fails) throw new Error(`fault after call ${calls}`);
    return result;
  };
  return {
    get calls() {
      return calls;
    },
    open: (newId) => call(() => inner.open(newId)),
    async *scan(revision, options) {
      for await (const chunk of inner.scan(revision, options)) yield await call(async () => chunk);
    },
    append: (records) => call(() => inner.append(records)),
    get: (address) => call(() => inner.get(address)),
    saveCheckpoint: (mark, superseded) => call(() => inner.saveCheckpoint(mark, superseded)),
    close: () => inner.close(),
  };
}

async function content(
  store: ObjectStore,
): Promise<readonly (readonly [string, number | undefined])[]> {
  return (await store.list(things)).items.map((o) => [o.name, o.value] as const);
}

async function replayed(store: ObjectStore, from: number): Promise<Map<string, number>> {
  const stop = new AbortController();
  const state = new Map<string, number>();
  const options = { fromRevision: from, signal: stop.signal };
  if (store.revision === from) return state;
  let last = from;
  for await (const batch of store.watch(things, options)) {
    for (const event of batch.events) {
      expect(event.revision).to.be.greaterThanOrEqual(last);
      last = event.revision;
      if (event.type === 'DELETED') state.delete(event.object.name);
      else state.set(event.object.name, event.object.value ?? -1);
    }
    if (batch.revision >= store.revision) stop.abort();
  }
  return state;
}

const sorted = (model: ReadonlyMap<string, number>) =>
  [...model].sort(([a], [b]) => (a < b ? -1 : 1));

const operation = fc.record({
  op: fc.constantFrom('create', 'update', 'delete'),
  name: fc.constantFrom('a', 'b', 'c', 'd', 'e'),
  value: fc.nat(99),
});
const transaction = fc.array(operation, { minLength: 1, maxLength: 4 });

function toOperation({ op, name, value }: { op: string; name: string; value: number }): Operation {
  if (op === 'delete') return { op: 'deleteByName', kind: things, key: key(name) };
  const object = thing(name, value);
  return op === 'create'
    ? { op: 'create', kind: things, object }
    : { op: 'overwrite', kind: things, object };
}

/** The map after a transaction; undefined if it is refused. */
function applied(
  model: ReadonlyMap<string, number>,
  steps: readonly { op: string; name: string; value: number }[],
): Map<string, number> | undefined {
  const next = new Map(model);
  for (const { op, name, value } of steps) {
    if ((op === 'create') === next.has(name)) return undefined;
    if (op === 'delete') next.delete(name);
    else next.set(name, value);
  }
  return next;
}

describe('store under faults', () => {
  it('equals a map after reopening at every write boundary, with compactions, and its log replays to it', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.tuple(transaction, fc.boolean()), { maxLength: 25 }),
        async (steps) => {
          const engine = new MemoryEngine();
          const clock = new FakeClock();
          const options = { engine, clock, historyEvents: 3, historyAgeMs: 0 };
          let store = await openStore(options);
          let model = new Map<string, number>();
          for (const [operations, compacts] of steps) {
            const next = applied(model, operations);
            const done = await store.transact(operations.map(toOperation)).then(
              () => true,
              () => false,
            );
            expect(done).to.equal(next !== undefined);
            model = next ?? model;
            await clock.advance(10);
            if (compacts) await store.compact();
            await store.verify();
            await store.close();
            store = await openStore(options);
            expect(await content(store)).to.deep.equal(sorted(model));
          }
          await store.close();
        },
      ),
      { numRuns: 120 },
    );
  });

  it('from any revision a watch replays to the present', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(transaction, { maxLength: 20 }), async (steps) => {
        const store = await openStore({ engine: new MemoryEngine() });
        let model = new Map<string, number>();
        const states = new Map([[0, model]]);
        for (const operations of steps) {
          await store.transact(operations.map(toOperation)).catch(() => undefined);
          model = applied(model, operations) ?? model;
          states.set(store.revision, model);
        }
        for (const [from, start] of states) {
          const later = await replayed(store, from);
          const names = new Set([...start.keys(), ...model.keys()]);
          for (const name of names) {
            const seen =
              later.get(name) ??
              (start.get(name) === model.get(name) ? model.get(name) : undefined);
            expect(seen, `${name} from ${from}`).to.equal(model.get(name));
          }
        }
        await store.close();
      }),
      { numRuns: 100 },
    );
  });

  /** Creates, changes, deletes and compacts; every acknowledged write goes into `acked`. */
  async function scenario(store: EmbeddedStore, acked: Map<string, number>): Promise<void> {
    for (let n = 0; n < 12; n += 1) {
      const name = `t${n % 5}`;
      const value = n;
      const exists = (await store.get(things, key(name))) !== undefined;
      const op = exists ? (n % 3 === 0 ? 'delete' : 'update') : 'create';
      try {
        await store.transact([toOperation({ op, name, value })]);
        if (op === 'delete') acked.delete(name);
        else acked.set(name, value);
      } catch (error) {
        expect(hasCode(error, 'Unavailable')).to.equal(true);
        // Unknown: the store may have either state, so this object is not compared.
        acked.set(`?${name}`, n);
      }
      if (n % 4 === 3) await store.compact().catch(() => undefined);
    }
  }

  for (const fault of ['before', 'after'] as const) {
    it(`recovers if the n-th storage call fails ${fault} its execution, for every n, and loses no acknowledged write`, async () => {
      const clean = faulty(new MemoryEngine(), Infinity, fault);
      const undisturbed = await openStore({ engine: clean, historyEvents: 2, historyAgeMs: 0 });
      await scenario(undisturbed, new Map());
      await undisturbed.close();
      for (let n = 1; n <= clean.calls; n += 1) {
        const inner = new MemoryEngine();
        const clock = new FakeClock();
        const options = { clock, historyEvents: 2, historyAgeMs: 0 };
        let store: EmbeddedStore;
        try {
          store = await openStore({ ...options, engine: faulty(inner, n, fault, 3) });
        } catch {
          // Opening failed: no write was acknowledged.
          continue;
        }
        const acked = new Map<string, number>();
        await scenario(store, acked);
        await clock.advance(120_000);
        await settle();
        expect(store.health().state, `call ${n}`).to.equal('serving');
        // The fault may affect more calls; a caller retries after Unavailable.
        for (let tries = 0; tries < 4; tries += 1) {
          if (
            await store.create(things, thing('after', 1)).then(
              () => true,
              () => false,
            )
          )
            break;
          await clock.advance(120_000);
        }
        const before = await content(store);
        for (const [name, value] of acked) {
          if (name.startsWith('?') || acked.has(`?${name}`)) continue;
          expect(new Map(before as [string, number][]).get(name), `call ${n}, ${name}`).to.equal(
            value,
          );
        }
        await store.close();
        const again = await openStore({ ...options, engine: inner });
        expect(await content(again), `call ${n}`).to.deep.equal(before);
        await again.verify();
        await again.close();
      }
    });
  }

  it('delivers writes that reached the disk to watchers, although their writer got Unavailable', async () => {
    const clock = new FakeClock();
    const store = await openStore({ engine: faulty(new MemoryEngine(), 2, 'after'), clock });
    const stop = new AbortController();
    const watch = store.watch(things, { fromRevision: 0, signal: stop.signal });
    const next = watch[Symbol.asyncIterator]().next();
    const error = await store.create(things, thing('a', 1)).catch((e: unknown) => e);
    expect(hasCode(error, 'Unavailable')).to.equal(true);
    expect(store.health().state).to.equal('poisoned');
    expect(await store.get(things, key('a'))).to.equal(undefined);
    await clock.advance(60_000);
    const { value } = (await next) as { value: { events: { object: Thing }[] } };
    expect(value.events.map((e) => e.object.name)).to.deep.equal(['a']);
    expect(store.health().state).to.equal('serving');
    expect((await store.get(things, key('a')))?.value).to.equal(1);
    stop.abort();
    await store.close();
  });
});
