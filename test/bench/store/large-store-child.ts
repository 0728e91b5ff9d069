// Opens a store and prints its cost. Argument: directory.
import {
  done,
  type ListWatch,
  newController,
  type ObjectStore,
  SharedInformer,
  StatusError,
} from 'kedge';
import { items, type Item, openLevelStore } from '../measuring/objects.js';
import { type Slices, watchSlices } from '../measuring/slices.js';

/** The output that {@link run} of large-store.ts reads. */
export interface LargeStoreReport {
  readonly openToSyncedMs: number;
  readonly residentBytes: number;
  readonly parsedBytes: number;
  readonly encodedBytes: number;
  readonly list: Slices;
  readonly relist: Slices;
  readonly reconcile: Slices;
}

async function resident(): Promise<number> {
  for (let n = 0; n < 4; n += 1) {
    global.gc?.();
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  return process.memoryUsage().rss;
}

function informerOf(
  store: ObjectStore,
  source: ListWatch<Item> = store.source(items),
): SharedInformer<Item> {
  return new SharedInformer({ source, name: 'items', kind: 'Item' });
}

/** Starts a controller and waits until every object was reconciled once. */
async function reconcileAll(store: ObjectStore, count: number): Promise<void> {
  await using informer = informerOf(store);
  let left = count;
  await new Promise<void>((resolve) => {
    const controller = newController({
      name: 'bench',
      concurrency: 4,
      reconcile: async ({ key }) => {
        if (!informer.lister.get(`${key.namespace ?? ''}/${key.name}`)) throw new Error('missing');
        left -= 1;
        if (left === 0) resolve();
        return done();
      },
    }).for(informer);
    informer.start();
    void controller.start();
  });
}

/** Starts an informer whose first watch fails because its history has expired, and waits until it watches again. */
async function relist(store: ObjectStore): Promise<void> {
  const source = store.source(items);
  let expire: () => void = () => undefined;
  let watches = 0;
  await using informer = informerOf(store, {
    list: (signal) => source.list(signal),
    watch: (revision, sink, signal) => {
      watches += 1;
      if (watches > 1) return source.watch(revision, sink, signal);
      return new Promise((_, reject) => {
        expire = () =>
          reject(new StatusError({ code: 'OutOfRange', reason: 'Compacted', message: 'gone' }));
      });
    },
  });
  informer.addHandler({});
  informer.start();
  await informer.waitForSync();
  expire();
  while (watches < 2) await new Promise((resolve) => setImmediate(resolve));
}

const before = await resident();
const startedAt = performance.now();
const store = await openLevelStore(process.argv[2] ?? '');
const informer = informerOf(store);
informer.start();
await informer.waitForSync();
const openToSyncedMs = performance.now() - startedAt;
const residentAfter = await resident();
const relisted = await watchSlices(() => relist(store));
const reconciled = await watchSlices(() => reconcileAll(store, [...informer.lister.keys()].length));
let count = 0;
const listed = await watchSlices(async () => {
  const { items: all } = await store.list(items);
  count = all.length;
});
const parsed = await resident();
const encoded = Buffer.byteLength(JSON.stringify((await store.list(items, { limit: 1 })).items[0]));
const report: LargeStoreReport = {
  openToSyncedMs,
  residentBytes: (residentAfter - before) / count,
  parsedBytes: (parsed - before) / count,
  encodedBytes: encoded,
  list: listed,
  relist: relisted,
  reconcile: reconciled,
};
console.log(JSON.stringify(report));
await informer.close();
await store.close();
