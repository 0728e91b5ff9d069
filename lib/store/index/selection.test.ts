import { expect } from 'chai';
import fc from 'fast-check';
import {
  type AnyKind,
  type ApiObject,
  defineKind,
  parseFieldSelector,
  parseLabelSelector,
  type WatchBatch,
} from '../../object/index.js';
import { hasCode } from '../../base/index.js';
import {
  MemoryEngine,
  type ObjectStore,
  openStore,
  type Operation,
  type WatchOptions,
} from '../index.js';

interface Thing extends ApiObject {
  readonly value: number;
}
const things = defineKind<Thing>({
  kind: 'Thing',
  plural: 'things',
  scope: 'Namespaced',
  statusFields: [],
});
const kind = things as AnyKind;
const key = (name: string) => ({ namespace: 'default', name });

type Selector = Pick<WatchOptions, 'namespace' | 'labels' | 'fields'>;

/** Selectors of objects with two values of a label and three of a field. */
const selectors: readonly Selector[] = [
  {},
  { namespace: 'default' },
  { namespace: 'other' },
  { labels: parseLabelSelector('tier=web') },
  { labels: parseLabelSelector('tier!=web'), namespace: 'default' },
  { fields: parseFieldSelector('value=1') },
  { labels: parseLabelSelector('tier=web'), fields: parseFieldSelector('value!=2') },
];

/** A recorded state: version by key. */
type State = ReadonlyMap<string, string>;

const stateOf = (object: Thing): readonly [string, string] => [
  `${object.namespace}/${object.name}`,
  `${object.metadata.uid}@${object.metadata.resourceVersion}`,
];

const listed = async (store: ObjectStore, selector: Selector): Promise<State> =>
  new Map((await store.list(things, selector)).items.map(stateOf));

const step = fc.record({
  op: fc.constantFrom('put', 'put', 'put', 'delete', 'hold', 'release'),
  name: fc.constantFrom('a', 'b', 'c'),
  namespace: fc.constantFrom('default', 'other'),
  tier: fc.constantFrom('web', 'db'),
  value: fc.nat(2),
});
type Step = typeof step extends fc.Arbitrary<infer S> ? S : never;

/** Whether an object exists and has a finalizer, during the operations of one transaction. */
interface Known {
  readonly held: boolean;
  readonly deleting: boolean;
}

/** The operation of a step in this state, if it applies, and the state after it. */
function operationOf(
  { op, name, namespace, tier, value }: Step,
  known: Known | undefined,
): { readonly operation: Operation; readonly after: Known | undefined } | undefined {
  const object = { namespace, name, value, labels: { tier } };
  if (op === 'put') {
    if (known) return { operation: { op: 'overwrite', kind, object }, after: known };
    return { operation: { op: 'create', kind, object }, after: { held: false, deleting: false } };
  }
  if (!known) return undefined;
  if (op === 'delete') {
    const after = known.held ? { ...known, deleting: true } : undefined;
    return { operation: { op: 'deleteByName', kind, key: { namespace, name } }, after };
  }
  if (op === 'hold' && known.deleting) return undefined;
  const held = op === 'hold';
  const finalizers = held ? ['test/held'] : [];
  // The removal of the finalizer changes labels and value in the same write.
  const operation = {
    op: 'overwrite',
    kind,
    object: { ...object, metadata: { finalizers } },
  } as const;
  return { operation, after: !held && known.deleting ? undefined : { ...known, held } };
}

/** Runs a transaction of these steps against the store and the model. */
async function transact(
  store: ObjectStore,
  model: Map<string, Known>,
  steps: readonly Step[],
): Promise<void> {
  const operations: Operation[] = [];
  for (const one of steps) {
    const id = `${one.namespace}/${one.name}`;
    const done = operationOf(one, model.get(id));
    if (!done) continue;
    operations.push(done.operation);
    if (done.after) model.set(id, done.after);
    else model.delete(id);
  }
  await store.transact(operations);
}

/** Applies a watch until `to` and compares the result with the list at each revision. */
async function follow(
  store: ObjectStore,
  start: { readonly from: number } | 'initial',
  selector: Selector,
  expected: ReadonlyMap<number, State>,
  to: number,
): Promise<void> {
  const stop = new AbortController();
  const from = start === 'initial' ? undefined : start.from;
  const state = new Map(from === undefined ? [] : expected.get(from));
  const options =
    from === undefined ? { sendInitialEvents: true as const } : { fromRevision: from };
  const apply = ({ events, revision, initial }: WatchBatch<Thing>): void => {
    let next = 0;
    for (const [at, wanted] of expected) {
      if (initial === undefined && at <= (from ?? -1)) continue;
      if (at > revision) break;
      if (initial !== undefined && at !== revision) continue;
      for (let event = events[next]; event; event = events[next]) {
        if (initial === undefined && event.revision > at) break;
        const [id, version] = stateOf(event.object);
        if (initial === undefined)
          expect(state.has(id), `${event.type} ${id}`).to.equal(event.type !== 'ADDED');
        if (event.type === 'DELETED') state.delete(id);
        else state.set(id, version);
        next += 1;
      }
      if (initial !== 'more')
        expect([...state].sort(), `at ${at}`).to.deep.equal([...wanted].sort());
    }
  };
  if (to === from) return;
  const watch = store.watch(things, {
    ...options,
    ...selector,
    signal: stop.signal,
    bookmarkMs: 1,
  });
  for await (const batch of watch) {
    apply(batch);
    if (batch.revision >= to && batch.initial !== 'more') break;
  }
  stop.abort();
}

describe('a watch with a selector', () => {
  it('yields the content of a list at every revision: live, from the log, after compaction', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.array(step, { minLength: 1, maxLength: 5 }), { minLength: 1, maxLength: 20 }),
        fc.nat(),
        async (transactions, seed) => {
          const engine = new MemoryEngine();
          const options = { engine, historyEvents: 6, historyAgeMs: 0 };
          let store = await openStore(options);
          const model = new Map<string, Known>();
          const expected = selectors.map(() => new Map<number, State>());
          const note = async (): Promise<void> => {
            for (const [at, selector] of selectors.entries())
              expected[at]?.set(store.revision, await listed(store, selector));
          };
          await note();
          for (const steps of transactions) {
            await transact(store, model, steps);
            await note();
          }
          const to = store.revision;
          const from = seed % (to + 1);
          const everybody = async (): Promise<void> => {
            for (const [at, selector] of selectors.entries()) {
              const wanted = expected[at] ?? new Map<number, State>();
              await follow(store, 'initial', selector, wanted, to);
              for (const begin of new Set([0, from]))
                await follow(store, { from: begin }, selector, wanted, to).catch((error) => {
                  if (!hasCode(error, 'OutOfRange')) throw error;
                });
            }
          };
          await everybody();
          await store.close();
          // Nothing is in memory now: the previous states come from the log.
          store = await openStore(options);
          await everybody();
          await store.compact();
          await everybody();
          await store.close();
        },
      ),
      { numRuns: 120 },
    );
  });

  const labels = parseLabelSelector('tier=web');
  const changesOf = async (
    store: ObjectStore,
    fromRevision: number,
  ): Promise<readonly string[]> => {
    const stop = new AbortController();
    const lines: string[] = [];
    const watch = store.watch(things, { fromRevision, labels, signal: stop.signal, bookmarkMs: 1 });
    for await (const { events, revision } of watch) {
      lines.push(...events.map(({ type, object }) => `${type} ${object.name}`));
      if (revision >= store.revision) break;
    }
    return lines;
  };
  const web = { ...key('a'), value: 1, labels: { tier: 'web' } };
  const db = { ...web, labels: { tier: 'db' } };

  it('reports a deletion whose last write, the removal of the last finalizer, also removed the label', async () => {
    const engine = new MemoryEngine();
    const store = await openStore({ engine });
    await store.create(things, { ...web, metadata: { finalizers: ['test/held'] } });
    await store.deleteByName(things, key('a'));
    await store.transact([
      { op: 'overwrite', kind, object: { ...db, metadata: { finalizers: [] } } },
    ]);
    const expected = ['ADDED a', 'MODIFIED a', 'DELETED a'];
    expect(await changesOf(store, 0)).to.deep.equal(expected);
    await store.close();
    const again = await openStore({ engine });
    expect(await changesOf(again, 0)).to.deep.equal(expected);
    await again.close();
  });

  it('reports a deletion whose transaction also has an update that removed the label', async () => {
    const engine = new MemoryEngine();
    const store = await openStore({ engine });
    await store.create(things, web);
    await store.transact([
      { op: 'overwrite', kind, object: db },
      { op: 'deleteByName', kind, key: key('a') },
    ]);
    expect(await changesOf(store, 0)).to.deep.equal(['ADDED a', 'DELETED a']);
    await store.close();
    const again = await openStore({ engine });
    expect(await changesOf(again, 0)).to.deep.equal(['ADDED a', 'DELETED a']);
    await again.close();
  });

  it('reports no deletion of an object that gets the label only in its last state', async () => {
    const store = await openStore({ engine: new MemoryEngine() });
    await store.create(things, db);
    await store.transact([
      { op: 'overwrite', kind, object: web },
      { op: 'deleteByName', kind, key: key('a') },
    ]);
    expect(await changesOf(store, 0)).to.deep.equal([]);
    await store.close();
  });
});
