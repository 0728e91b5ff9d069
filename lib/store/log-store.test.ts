import { mkdtemp, open, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { crc32 } from 'node:zlib';
import { expect } from 'chai';
import { Level } from 'level';
import { hasCode } from '../base/index.js';
import { type AnyKind, type ApiObject, defineKind, type WatchBatch } from '../object/index.js';
import { FakeClock } from '../testing/index.js';
import { Expiries } from './writes/expiries.js';
import { LevelEngine, MemoryEngine, type ObjectStore, openStore, type Operation } from './index.js';

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
    () => expect.fail('was not refused'),
    (error: unknown) => error,
  );
}

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

describe('store history', () => {
  it('compaction keeps existing objects, drops deleted ones, and refuses old cursors as OutOfRange', async () => {
    const engine = new MemoryEngine();
    const clock = new FakeClock();
    const options = { engine, clock, historyEvents: 2, historyAgeMs: 1_000 };
    let store = await openStore(options);
    await store.create(things, thing('old'));
    await store.create(things, thing('dead'));
    await store.deleteByName(things, key('dead'));
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

  it('a watch from an invalid revision is refused in every form, instead of staying silent', async () => {
    const store = await openStore({ engine: new MemoryEngine() });
    await store.create(things, thing('a'));
    const signal = AbortSignal.timeout(60_000);
    const cursor = `0.${store.storeId}` as unknown as number;
    for (const fromRevision of [NaN, 0.5, cursor]) {
      const watch = store.watch(things, { fromRevision, signal });
      const refused = await rejection(watch[Symbol.asyncIterator]().next());
      expect(hasCode(refused, 'InvalidArgument'), String(fromRevision)).to.equal(true);
      const sunk = store.source(things).watch(fromRevision, () => undefined, signal);
      expect(hasCode(await rejection(sunk), 'InvalidArgument')).to.equal(true);
    }
    await store.close();
  });

  it('compaction reads only records that it passes, and may stop anywhere', async () => {
    const engine = new MemoryEngine();
    const clock = new FakeClock();
    const options = { engine, clock, historyEvents: 10, historyAgeMs: 0 };
    await using store = await openStore(options);
    for (let n = 0; n < 100; n += 1) {
      await store.create(things, thing(`t${n}`));
      await store.updateStatus(things, key(`t${n}`), { seen: 1 });
    }
    await clock.advance(1);
    await store.compact();
    const scanned: number[] = [];
    const scan = engine.scan.bind(engine);
    engine.scan = (revision) => (scanned.push(revision), scan(revision));
    await store.updateStatus(things, key('t1'), { seen: 2 });
    await clock.advance(1);
    await store.compact();
    expect(scanned).to.deep.equal([190]);
    await store.verify();
  });

  it('history beyond its byte limit is dropped regardless of its age', async () => {
    const engine = new MemoryEngine();
    const options = { engine, clock: new FakeClock(), historyBytesMax: 50_000 };
    await using store = await openStore(options);
    await store.create(things, thing('a'));
    for (let n = 0; n < 500; n += 1) await store.updateStatus(things, key('a'), { seen: n + 1 });
    await store.compact();
    let bytes = 0;
    for await (const chunk of engine.scan(0)) for (const r of chunk) bytes += r.bytes.length;
    expect(bytes).to.be.within(20_000, 51_000);
    await store.verify();
  });

  it('refuses an object with an invalid key, or with that of another object', async () => {
    const cluster = defineKind<Thing>({
      kind: 'Cluster',
      plural: 'clusters',
      scope: 'Cluster',
      statusFields: [],
    });
    const store = await openStore({ engine: new MemoryEngine() });
    for (const [creation, field] of [
      [store.create(things, { namespace: '', name: 'a' }), 'namespace'],
      [store.create(things, { name: 'a' } as Thing & { namespace: string }), 'namespace'],
      [store.create(things, { namespace: 'a/b', name: 'c' }), 'namespace'],
      [store.create(things, { namespace: 'a', name: '' }), 'name'],
      [store.create(cluster, { namespace: 'a', name: 'b' }), 'namespace'],
      [store.create(cluster, { name: '' }), 'name'],
    ] as const) {
      const error = await creation.catch((e: unknown) => e);
      expect(
        hasCode(error, 'InvalidArgument') && error.violations.map((v) => v.field),
      ).to.deep.equal([field]);
    }
    expect(store.revision).to.equal(0);
    await store.close();
  });

  it('a creation sees a pending deletion before it', async () => {
    await using store = await openStore({ engine: new MemoryEngine() });
    const made = await store.create(things, thing('a'));
    const [, again] = await Promise.all([
      store.deleteByName(things, key('a')),
      store.create(things, thing('a')),
    ]);
    expect(again.metadata.uid).not.to.equal(made.metadata.uid);
    expect(await store.get(things, key('a'))).to.deep.equal(again);
  });

  it('objects expire on time, also after reopening, and not while the store is closed', async () => {
    const engine = new MemoryEngine();
    const clock = new FakeClock();
    const at = (ms: number) => ({ expiresAt: new Date(clock.now() + ms).toISOString() });
    let store = await openStore({ engine, clock });
    await store.create(things, { ...thing('soon'), metadata: at(1_000) });
    await store.create(things, { ...thing('later'), metadata: at(60_000) });
    await store.create(things, {
      ...thing('held'),
      metadata: { ...at(1_000), finalizers: ['x/y'] },
    });
    const renewed = await store.create(things, { ...thing('renewed'), metadata: at(1_000) });
    const metadata = { ...renewed.metadata, ...at(30_000) };
    await store.update(things, { ...renewed, metadata });
    await clock.advance(2_000);
    const names = async () => (await store.list(things)).items.map((o) => o.name);
    expect(await names()).to.deep.equal(['held', 'later', 'renewed']);
    expect((await store.get(things, key('held')))?.metadata.deletionRequestedAt).to.be.a('string');
    await store.close();
    await clock.advance(40_000);
    store = await openStore({ engine, clock });
    await clock.advance(0);
    expect(await names()).to.deep.equal(['held', 'later']);
    await clock.advance(30_000);
    expect(await names()).to.deep.equal(['held']);
    await store.close();
    expect(clock.pending).to.equal(0);
  });

  it('more objects can wait for their expiry than a call may have arguments, and none expires after close', async () => {
    const engine = new MemoryEngine();
    const clock = new FakeClock();
    const expiries = Array.from({ length: 200_000 }, (_, n) => ({
      kind: 'Thing',
      key: `default/t${n}`,
      at: clock.now() + 1_000 + n,
    }));
    const waiting = new Expiries(clock, () => Promise.reject(new Error('closed')), expiries);
    expect(waiting.size).to.equal(200_000);
    waiting.close();
    expect(clock.pending).to.equal(0);
    const store = await openStore({ engine, clock });
    const expiresAt = new Date(clock.now() + 1_000).toISOString();
    await store.create(things, { ...thing('a'), metadata: { expiresAt } });
    engine.append = () => Promise.reject(new Error('EIO'));
    const advancing = clock.advance(1_000);
    await advancing;
    await store.close();
    await clock.advance(10_000);
    expect(clock.pending).to.equal(0);
  });

  it('a watcher far behind the ring reads from the log and misses nothing', async () => {
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

  it('sends a bookmark after the requested interval', async () => {
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

describe('schema version of the database', () => {
  const meta = async (directory: string, write?: Buffer): Promise<Buffer> => {
    const db = new Level<string, Buffer>(join(directory, 'db'), { valueEncoding: 'buffer' });
    await db.open();
    if (write) await db.put('m/state', write);
    const value = await db.get('m/state');
    await db.close();
    return Buffer.from(value ?? []);
  };

  it('an older one is refused by name, for any first byte of a checksum', async () => {
    const directory = await mkdtemp(join(tmpdir(), 'kedge-schema-'));
    try {
      const open = () => openStore({ engine: new LevelEngine({ directory }) });
      await (await open()).close();
      const { storeId } = JSON.parse((await meta(directory)).subarray(4).toString()) as {
        storeId: string;
      };
      // Among so many marks some checksums start with the byte of "{".
      let brace = 0;
      for (let revision = 1; brace === 0; revision += 1) {
        const checkpoint = { revision, objects: 0, hash: 0 };
        const text = Buffer.from(JSON.stringify({ schemaVersion: 2, storeId, checkpoint }));
        const head = Buffer.alloc(4);
        head.writeUInt32BE(crc32(text));
        if (head[0] !== 0x7b) continue;
        brace = revision;
        await meta(directory, Buffer.concat([head, text]));
      }
      const store = await open();
      expect(store.revision).to.equal(brace);
      await store.close();
      const old = Buffer.from(JSON.stringify({ schemaVersion: 1, storeId, compactedRevision: 0 }));
      await meta(directory, old);
      const error = await rejection(open());
      expect(String(error)).to.contain('schema version 1');
      await meta(directory, Buffer.from('{"schemaVersion"'));
      expect(hasCode(await rejection(open()), 'DataLoss')).to.equal(true);
    } finally {
      await rm(directory, { recursive: true });
    }
  });
});

describe('store with failing writes', () => {
  it('G4: fails the batch and all later writes as Unavailable, and continues reads', async () => {
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
