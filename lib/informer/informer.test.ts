import { expect } from 'chai';
import { StatusError } from '../base/index.js';
import {
  type ApiObject,
  defineKind,
  type ListWatch,
  type WatchBatch,
  stored,
  type Stored,
  storedBatch,
  type StoredBatch,
} from '../object/index.js';
import { MemoryEngine, openStore } from '../store/index.js';
import { FakeClock, settle } from '../testing/index.js';
import { SharedInformer } from './index.js';

interface Lamp extends ApiObject {
  readonly room?: string;
}
const lamps = defineKind<Lamp>({
  kind: 'Lamp',
  plural: 'lamps',
  scope: 'Cluster',
  statusFields: [],
});

function lamp(name: string, version: string, uid = name): Lamp {
  const metadata = {
    uid,
    resourceVersion: version,
    generation: 1,
    createdAt: '',
    updatedAt: '',
  };
  return { name, metadata };
}

/** A source that the test controls. */
class PlayedSource implements ListWatch<Lamp> {
  items: Lamp[] = [];
  revision = 1;
  lists = 0;
  watches: number[] = [];
  sink: (batch: WatchBatch<Lamp>) => void = () => undefined;
  end: (error?: Error) => void = () => undefined;

  list(): Promise<{ items: Stored<Lamp>[]; revision: number }> {
    this.lists += 1;
    return Promise.resolve({ items: this.items.map(stored), revision: this.revision });
  }

  watch(revision: number, sink: (batch: StoredBatch<Lamp>) => void, signal: AbortSignal) {
    this.watches.push(revision);
    this.sink = (batch) => sink(storedBatch(batch));
    return new Promise<void>((resolve, reject) => {
      this.end = (error) => (error ? reject(error) : resolve());
      signal.addEventListener('abort', () => resolve(), { once: true });
    });
  }
}

describe('shared informer', () => {
  it('caches and indexes a write before the write resolves', async () => {
    const store = await openStore({ engine: new MemoryEngine() });
    await using informer = new SharedInformer({ source: store.source(lamps), name: 'lamps' });
    informer.addIndex('room', (o) => (o.room ? [o.room] : []));
    informer.start();
    await informer.waitForSync();
    let cached: string | undefined;
    await store.create(lamps, { name: 'a', room: 'hall' }).then(() => {
      cached = informer.lister.get('a')?.room;
    });
    expect(cached).to.equal('hall');
    expect(() => informer.lister.byIndex('rom', 'hall')).to.throw(
      TypeError,
      /there is no index "rom", only room; declare it .* or add it with addIndex/,
    );
    expect(informer.lister.byIndex('room', 'hall')).to.have.length(1);
    const stored = await store.get(lamps, { name: 'a' });
    await store.update(lamps, { ...stored!, room: 'attic' });
    expect(informer.lister.byIndex('room', 'hall')).to.have.length(0);
    expect(Object.isFrozen(informer.lister.get('a'))).to.equal(true);
    await store.close();
  });

  it('delivers adds, updates and deletes in order, and marks the initial list', async () => {
    const store = await openStore({ engine: new MemoryEngine() });
    await store.create(lamps, { name: 'a' });
    await using informer = new SharedInformer({ source: store.source(lamps), name: 'lamps' });
    const delivered: string[] = [];
    informer.addHandler({
      onAdd: (o, initial) => void delivered.push(`add ${o.name}${initial ? ' initial' : ''}`),
      onUpdate: (_before, o) => void delivered.push(`update ${o.name} ${o.room ?? ''}`),
      onDelete: ({ object, known }) => void delivered.push(`delete ${object.name} ${known}`),
    });
    informer.start();
    await informer.waitForSync();
    const made = await store.create(lamps, { name: 'b' });
    await settle();
    await store.update(lamps, { ...made, room: 'hall' });
    await settle();
    await store.deleteByName(lamps, { name: 'b' });
    await settle();
    expect(delivered).to.deep.equal(['add a initial', 'add b', 'update b hall', 'delete b true']);
    await store.close();
  });

  it('coalesces pending changes of a slow handler, and never blocks another', async () => {
    const source = new PlayedSource();
    await using informer = new SharedInformer({ source, name: 'lamps' });
    let release: () => void = () => undefined;
    const slow: string[] = [];
    const fast: string[] = [];
    informer.addHandler({
      onAdd: async (o) => {
        slow.push(`add ${o.name}@${o.metadata.resourceVersion}`);
        await new Promise<void>((resolve) => (release = resolve));
      },
      onUpdate: (before, o) =>
        void slow.push(
          `update ${o.name} ${before.metadata.resourceVersion}->${o.metadata.resourceVersion}`,
        ),
    });
    informer.addHandler({
      onAdd: (o) => void fast.push(o.name),
      onUpdate: (_b, o) => void fast.push(o.metadata.resourceVersion),
    });
    informer.start();
    await settle();
    source.sink({
      revision: 2,
      events: [{ type: 'ADDED', object: lamp('a', '2'), revision: 2 }],
    });
    await settle();
    for (const v of [3, 4, 5]) {
      source.sink({
        revision: v,
        events: [{ type: 'MODIFIED', object: lamp('a', String(v)), revision: v }],
      });
      await settle();
    }
    expect(fast).to.deep.equal(['a', '3', '4', '5']);
    expect(slow).to.deep.equal(['add a@2']);
    release();
    await settle();
    expect(slow).to.deep.equal(['add a@2', 'update a 2->5']);
  });

  it('resumes from the last revision when the stream ends, without a relist', async () => {
    const source = new PlayedSource();
    const clock = new FakeClock();
    await using informer = new SharedInformer({ source, name: 'lamps', clock });
    informer.start();
    await settle();
    source.sink({ revision: 7, events: [] });
    source.end();
    await clock.advance(60_000);
    expect(source.watches).to.deep.equal([1, 7]);
    expect(source.lists).to.equal(1);
  });

  it('relists when its cursor is compacted: missed deletes are delivered as unknown, before updates', async () => {
    const source = new PlayedSource();
    source.items = [lamp('gone', '1'), lamp('kept', '1')];
    const clock = new FakeClock();
    await using informer = new SharedInformer({ source, name: 'lamps', clock });
    const delivered: string[] = [];
    informer.addHandler({
      onUpdate: (_b, o) => void delivered.push(`update ${o.name}`),
      onDelete: ({ object, known }) => void delivered.push(`delete ${object.name} ${known}`),
    });
    informer.start();
    await settle();
    source.items = [lamp('kept', '9')];
    source.revision = 9;
    source.end(new StatusError({ code: 'OutOfRange', reason: 'Compacted', message: 'compacted' }));
    await clock.advance(60_000);
    expect(delivered).to.deep.equal(['delete gone false', 'update kept']);
    expect(informer.lister.list().map((o) => o.name)).to.deep.equal(['kept']);
    expect(source.watches.at(-1)).to.equal(9);
  });

  it('delivers a delete and an add when another object has the name', async () => {
    const source = new PlayedSource();
    source.items = [lamp('a', '1', 'first')];
    await using informer = new SharedInformer({ source, name: 'lamps' });
    const delivered: string[] = [];
    informer.addHandler({
      onAdd: (o) => void delivered.push(`add ${o.metadata.uid}`),
      onUpdate: () => void delivered.push('update'),
      onDelete: ({ object }) => void delivered.push(`delete ${object.metadata.uid}`),
    });
    informer.start();
    await settle();
    const object = lamp('a', '5', 'second');
    source.sink({ revision: 5, events: [{ type: 'MODIFIED', object, revision: 5 }] });
    await settle();
    expect(delivered).to.deep.equal(['add first', 'delete first', 'add second']);
  });

  it('restarts a silent stream, and backs off when the source keeps failing', async () => {
    const source = new PlayedSource();
    const clock = new FakeClock();
    await using informer = new SharedInformer({
      source,
      name: 'lamps',
      clock,
      silenceMs: 10_000,
      backoff: { baseMs: 1_000, maxMs: 30_000, jitter: 0 },
    });
    informer.start();
    await settle();
    await clock.advance(13_000);
    expect(source.watches.length).to.be.greaterThan(1);
    const before = source.watches.length;
    for (let n = 0; n < 50; n += 1) {
      source.end(new Error('down'));
      await clock.advance(100);
    }
    expect(source.watches.length - before).to.be.lessThan(6);
  });

  it('a handler that is added during the delivery of a list gets each object once', async () => {
    const source = new PlayedSource();
    source.items = Array.from({ length: 500 }, (_, n) => lamp(`a${n}`, '1'));
    const clock = new FakeClock();
    // Every second query of the turn's age ends the slice, so that the list is delivered in many turns.
    clock.turnAgeMs = () => (turns++ % 2 === 0 ? 100 : 0);
    let turns = 0;
    await using informer = new SharedInformer({ source, name: 'lamps', clock });
    const delivered: string[] = [];
    informer.start();
    while (!informer.hasSynced()) await new Promise((resolve) => setImmediate(resolve));
    informer.addHandler({ onAdd: ({ name }) => void delivered.push(name) });
    await informer.waitForSync();
    expect(delivered).to.have.length(500);
    expect(new Set(delivered).size).to.equal(500);
  });
});
