import { mkdtemp, open, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { hasCode } from '../base/index.js';
import { type AnyKind, type ApiObject, defineKind, type WatchBatch } from '../object/index.js';
import { FakeClock } from '../testing/index.js';
import {
  type Engine,
  LevelEngine,
  MemoryEngine,
  modify,
  type ObjectStore,
  openStore,
  type Operation,
} from './index.js';

interface Thing extends ApiObject {
  readonly value?: number;
  readonly seen?: number;
}
const things = defineKind<Thing>({
  kind: 'Thing',
  plural: 'things',
  scope: 'Namespaced',
  statusFields: ['seen'],
  initialStatus: { seen: 0 },
});
const anyThing = things as AnyKind;
const key = (name: string, namespace = 'default') => ({ namespace, name });
const thing = (name: string, value = 0, namespace = 'default') => ({ name, namespace, value });

async function rejection(promise: Promise<unknown>): Promise<unknown> {
  return promise.then(
    () => expect.fail('should have been refused'),
    (error: unknown) => error,
  );
}

interface Bench {
  readonly engine: () => Engine;
  readonly cleanUp: () => Promise<void>;
}

/** Engines by name; each bench reopens the same data. */
const benches: Readonly<Record<string, () => Promise<Bench>>> = {
  memory: async () => {
    const engine = new MemoryEngine();
    return { engine: () => engine, cleanUp: async () => undefined };
  },
  level: async () => {
    const directory = await mkdtemp(join(tmpdir(), 'kedge-store-'));
    return {
      engine: () => new LevelEngine({ directory }),
      cleanUp: () => rm(directory, { recursive: true }),
    };
  },
};

async function collect(
  store: ObjectStore,
  fromRevision: number,
  count: number,
  namespace?: string,
): Promise<WatchBatch<Thing>[]> {
  const stop = new AbortController();
  const batches: WatchBatch<Thing>[] = [];
  const options = { fromRevision, signal: stop.signal, ...(namespace ? { namespace } : {}) };
  let left = count;
  for await (const batch of store.watch(things, options)) {
    batches.push(batch);
    left -= batch.events.length;
    if (left <= 0) stop.abort();
  }
  return batches;
}

for (const [name, makeBench] of Object.entries(benches)) {
  describe(`store on ${name}`, () => {
    let bench: Bench;
    let store: ObjectStore;

    beforeEach(async () => {
      bench = await makeBench();
      store = await openStore({ engine: bench.engine() });
    });
    afterEach(async () => {
      await store.close();
      await bench.cleanUp();
    });
    const reopen = async (): Promise<void> => {
      await store.close();
      store = await openStore({ engine: bench.engine() });
    };

    it('G1 durable: resolved writes are there after reopening, with their versions', async () => {
      const made = await store.create(things, thing('a', 1));
      await store.update(things, { ...made, value: 2 });
      await store.create(things, thing('b'));
      await store.delete(things, key('b'));
      const before = store.revision;
      await reopen();
      expect(store.revision).to.equal(before);
      expect((await store.get(things, key('a')))?.value).to.equal(2);
      expect(await store.get(things, key('b'))).to.equal(undefined);
    });

    it('G1 durable: a read never shows a write before its promise resolves', async () => {
      const write = store.create(things, thing('a'));
      expect(await store.get(things, key('a'))).to.equal(undefined);
      await write;
      expect(await store.get(things, key('a'))).to.not.equal(undefined);
    });

    it('G2 atomic: a transaction is one revision and one watch batch, or nothing', async () => {
      const create = (n: string): Operation => ({ op: 'create', kind: anyThing, object: thing(n) });
      const from = store.revision;
      await store.transact([create('a'), create('b')]);
      expect(store.revision).to.equal(from + 1);
      const [batch] = await collect(store, from, 2);
      expect(batch?.events.map((e) => e.object.name)).to.deep.equal(['a', 'b']);
      const error = await rejection(store.transact([create('c'), create('a')]));
      expect(hasCode(error, 'AlreadyExists')).to.equal(true);
      expect(await store.get(things, key('c'))).to.equal(undefined);
      expect(store.revision).to.equal(from + 1);
    });

    it('G3 serializable: of many writers that expect one version exactly one wins', async () => {
      const made = await store.create(things, thing('a'));
      const { resourceVersion } = made.metadata;
      const results = await Promise.allSettled(
        Array.from({ length: 20 }, (_, value) =>
          store.update(things, { ...made, value: value + 1 }, { resourceVersion }),
        ),
      );
      expect(results.filter((r) => r.status === 'fulfilled')).to.have.length(1);
      for (const r of results)
        if (r.status === 'rejected') expect(hasCode(r.reason, 'Aborted')).to.equal(true);
    });

    it('G3 serializable: concurrent increments through modify lose none', async () => {
      await store.create(things, thing('a'));
      await Promise.all(
        Array.from({ length: 10 }, () =>
          modify(store, things, key('a'), (o) => ({ ...o, value: (o.value ?? 0) + 1 })),
        ),
      );
      expect((await store.get(things, key('a')))?.value).to.equal(10);
    });

    it('G5 monotonic: revisions are dense and go on after reopening', async () => {
      const revisions: string[] = [];
      for (const n of ['a', 'b'])
        revisions.push((await store.create(things, thing(n))).metadata.resourceVersion);
      await reopen();
      revisions.push((await store.create(things, thing('c'))).metadata.resourceVersion);
      expect(revisions).to.deep.equal(['1', '2', '3']);
    });

    it('bumps the generation for spec changes only, and keeps status apart', async () => {
      const made = await store.create(things, thing('a'));
      const told = await store.updateStatus(things, key('a'), { seen: 5 });
      expect(told.metadata.generation).to.equal(1);
      const changed = await store.update(things, { ...made, value: 9, seen: 77 });
      expect(changed.metadata.generation).to.equal(2);
      expect(changed.seen).to.equal(5);
    });

    it('writes nothing when an update changes nothing', async () => {
      const made = await store.create(things, thing('a', 3));
      const again = await store.update(things, { ...made });
      expect(again.metadata.resourceVersion).to.equal(made.metadata.resourceVersion);
      expect(store.revision).to.equal(1);
    });

    it('keeps an object with finalizers until the last is removed', async () => {
      const made = await store.create(things, {
        ...thing('a'),
        metadata: { finalizers: ['x/one'] },
      });
      const marked = await store.delete(things, key('a'));
      expect(marked.metadata.deletionRequestedAt).to.be.a('string');
      const metadata = { ...made.metadata, finalizers: ['x/one', 'x/two'] };
      const refused = await rejection(store.update(things, { ...made, metadata }));
      expect(hasCode(refused, 'FailedPrecondition')).to.equal(true);
      await modify(store, things, key('a'), (o) => ({
        ...o,
        metadata: { ...o.metadata, finalizers: [] },
      }));
      expect(await store.get(things, key('a'))).to.equal(undefined);
    });

    it('lists by exact namespace: prod never sees production', async () => {
      await store.create(things, thing('a', 1, 'prod'));
      await store.create(things, thing('a', 2, 'production'));
      const { items } = await store.list(things, { namespace: 'prod' });
      expect(items.map((o) => o.value)).to.deep.equal([1]);
    });

    it('pages show one revision although writes go on', async () => {
      for (const n of ['a', 'b', 'c', 'd', 'e']) await store.create(things, thing(n));
      const first = await store.list(things, { limit: 2 });
      await store.delete(things, key('c'));
      await store.create(things, thing('cc'));
      const second = await store.list(things, { limit: 2, pageToken: first.nextPageToken });
      const third = await store.list(things, { limit: 2, pageToken: second.nextPageToken });
      const names = [first, second, third].flatMap((p) => p.items.map((o) => o.name));
      expect(names).to.deep.equal(['a', 'b', 'c', 'd', 'e']);
      expect([second.revision, third.revision]).to.deep.equal([first.revision, first.revision]);
      expect(third.nextPageToken).to.equal('');
    });

    it('watch is resumable: from any revision every later event comes once, in order', async () => {
      for (let n = 0; n < 6; n += 1) await store.create(things, thing(`t${n}`, n));
      await reopen();
      await store.create(things, thing('t6', 6));
      for (let from = 0; from < 7; from += 1) {
        const batches = await collect(store, from, 7 - from);
        const revisions = batches.flatMap((b) => b.events.map((e) => e.revision));
        expect(revisions).to.deep.equal(Array.from({ length: 7 - from }, (_, i) => from + i + 1));
      }
    });

    it('watch selects by namespace and still moves on', async () => {
      await store.create(things, thing('a', 0, 'one'));
      await store.create(things, thing('a', 0, 'two'));
      const batches = await collect(store, 0, 1, 'two');
      expect(batches.at(-1)?.events[0]?.object.namespace).to.equal('two');
    });

    it('watch from a revision that has not happened is OutOfRange', async () => {
      const signal = new AbortController().signal;
      const watch = store.watch(things, { fromRevision: 10, signal });
      const error = await rejection(watch[Symbol.asyncIterator]().next());
      expect(hasCode(error, 'OutOfRange')).to.equal(true);
    });

    it('refuses an object that is too large', async () => {
      const huge = { ...thing('a'), labels: { x: 'x'.repeat(1_600_000) } };
      expect(hasCode(await rejection(store.create(things, huge)), 'InvalidArgument')).to.equal(
        true,
      );
      await store.create(things, thing('a'));
      expect(store.revision).to.equal(1);
    });
  });
}

describe('store history', () => {
  it('compaction keeps the living, forgets the dead, and answers old cursors OutOfRange', async () => {
    const engine = new MemoryEngine();
    const clock = new FakeClock();
    const options = { engine, clock, historyEvents: 2, historyAgeMs: 1_000 };
    let store = await openStore(options);
    await store.create(things, thing('old'));
    await store.create(things, thing('dead'));
    await store.delete(things, key('dead'));
    for (let n = 0; n < 3; n += 1) await store.create(things, thing(`new${n}`));
    await clock.advance(2_000);
    await store.compact();
    const signal = new AbortController().signal;
    const watch = store.watch(things, { fromRevision: 1, signal });
    expect(hasCode(await rejection(watch[Symbol.asyncIterator]().next()), 'OutOfRange')).to.equal(
      true,
    );
    await store.close();
    store = await openStore(options);
    const { items, revision } = await store.list(things);
    expect(items.map((o) => o.name)).to.deep.equal(['new0', 'new1', 'new2', 'old']);
    expect(revision).to.equal(6);
    await store.close();
  });

  it('a watcher far behind the ring reads on from the log and misses nothing', async () => {
    const store = await openStore({ engine: new MemoryEngine() });
    const total = 10_500;
    const create = (n: number): Operation => ({
      op: 'create',
      kind: anyThing,
      object: thing(`t${n}`),
    });
    for (let n = 0; n < total; n += 500)
      await Promise.all(Array.from({ length: 500 }, (_, i) => store.transact([create(n + i)])));
    const batches = await collect(store, 0, total);
    const revisions = batches.flatMap((b) => b.events.map((e) => e.revision));
    expect(revisions).to.have.length(total);
    expect(revisions.every((r, i) => r === i + 1)).to.equal(true);
    await store.close();
  });

  it('sends a bookmark after the silence asked for', async () => {
    const clock = new FakeClock();
    const store = await openStore({ engine: new MemoryEngine(), clock });
    await store.create(things, thing('a'));
    const stop = new AbortController();
    const watch = store.watch(things, { fromRevision: 1, signal: stop.signal, bookmarkMs: 1_000 });
    const next = watch[Symbol.asyncIterator]().next();
    await clock.advance(1_000);
    expect((await next).value).to.deep.equal({ revision: 1, events: [] });
    stop.abort();
    await store.close();
  });
});

describe('store on level, damaged', () => {
  let directory: string;
  beforeEach(async () => {
    directory = await mkdtemp(join(tmpdir(), 'kedge-damage-'));
    const store = await openStore({ engine: new LevelEngine({ directory }) });
    for (let n = 0; n < 50; n += 1) await store.create(things, thing(`t${n}`, n));
    await store.close();
  });
  afterEach(() => rm(directory, { recursive: true }));

  it('G6 integrity: a flipped byte in a record refuses to open', async () => {
    const db = join(directory, 'db');
    const log = (await readdir(db)).find((f) => f.endsWith('.log'));
    const file = await open(join(db, log ?? ''), 'r+');
    const content = await file.readFile();
    const at = content.indexOf('"name":"t25"');
    await file.write(Buffer.from('X'), 0, 1, at + 9);
    await file.close();
    const error = await rejection(openStore({ engine: new LevelEngine({ directory }) }));
    expect(hasCode(error, 'DataLoss')).to.equal(true);
  });

  it('a second open of the directory names the owner', async () => {
    const store = await openStore({ engine: new LevelEngine({ directory }) });
    const error = await rejection(openStore({ engine: new LevelEngine({ directory }) }));
    expect(hasCode(error, 'FailedPrecondition')).to.equal(true);
    expect(String(error)).to.contain(String(process.pid));
    await store.close();
  });
});

describe('store that can not write', () => {
  it('G4: fails the batch and all later writes as Unavailable, and goes on reading', async () => {
    const engine = new MemoryEngine();
    const store = await openStore({ engine });
    await store.create(things, thing('a'));
    engine.append = () => Promise.reject(new Error('ENOSPC'));
    const error = await rejection(store.create(things, thing('b')));
    expect(hasCode(error, 'Unavailable')).to.equal(true);
    expect(hasCode(await rejection(store.create(things, thing('c'))), 'Unavailable')).to.equal(
      true,
    );
    expect(store.health().state).to.equal('poisoned');
    expect(await store.get(things, key('a'))).to.not.equal(undefined);
    await store.close();
  });
});
