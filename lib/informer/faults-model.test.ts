import { expect } from 'chai';
import fc from 'fast-check';
import { seededRandom, StatusError } from '../base/index.js';
import { type ApiObject, defineKind, type ListWatch, type StoredBatch } from '../object/index.js';
import { MemoryEngine, openStore } from '../store/index.js';
import { FakeClock, RecordingLogger, settle } from '../testing/index.js';
import { type EventHandler, SharedInformer } from './index.js';

interface Lamp extends ApiObject {
  readonly room?: string;
}
const lamps = defineKind<Lamp>({
  kind: 'Lamp',
  plural: 'lamps',
  scope: 'Cluster',
  statusFields: [],
});

/** Rooms for which the index function and a failing handler throw, return an invalid result or reject. */
const bad = new Set(['cellar', 'odd']);

function roomIndex({ room }: Lamp): readonly string[] {
  if (room === 'cellar') throw new Error('no light in the cellar');
  if (room === 'odd') return undefined as never;
  return room ? [room] : [];
}

/** A source whose next batch can be invalid, and whose stream can break. */
class FaultySource implements ListWatch<Lamp> {
  garbleNext = false;
  #break: (error: Error) => void = () => undefined;
  readonly #inner: ListWatch<Lamp>;

  constructor(inner: ListWatch<Lamp>) {
    this.#inner = inner;
  }

  list(signal: AbortSignal): ReturnType<ListWatch<Lamp>['list']> {
    return this.#inner.list(signal);
  }

  async watch(
    revision: number,
    sink: (batch: StoredBatch<Lamp>) => void,
    signal: AbortSignal,
  ): Promise<void> {
    const broken = new Promise<never>((_, reject) => (this.#break = reject));
    const garbled = (batch: StoredBatch<Lamp>): void => {
      const garble = this.garbleNext && batch.events.length > 0;
      if (garble) this.garbleNext = false;
      sink(garble ? ({ ...batch, events: [...batch.events, undefined] } as never) : batch);
    };
    await Promise.race([broken, this.#inner.watch(revision, garbled, signal)]);
  }

  breakOff(code: 'Unavailable' | 'OutOfRange'): void {
    this.#break(new StatusError({ code, reason: code, message: code }));
  }
}

/** A handler that records versions by name. With `fails`, it throws or rejects for bad rooms, and throws for deletions. */
class RecordingHandler implements EventHandler<Lamp> {
  readonly versions = new Map<string, string>();
  readonly #fails: boolean;

  constructor(fails: boolean) {
    this.#fails = fails;
  }

  onAdd(lamp: Lamp): Promise<void> | void {
    return this.#note(lamp);
  }

  onUpdate(_before: Lamp, lamp: Lamp): Promise<void> | void {
    return this.#note(lamp);
  }

  onDelete({ object }: { readonly object: Lamp }): void {
    this.versions.delete(object.name);
    if (this.#fails) throw new Error('no');
  }

  #note({ name, room, metadata }: Lamp): Promise<void> | void {
    this.versions.set(name, metadata.resourceVersion);
    if (!this.#fails || !bad.has(room ?? '')) return;
    if (room === 'odd') return Promise.reject(new Error('later'));
    throw new Error('no');
  }
}

const step = fc.record({
  op: fc.constantFrom(
    'put',
    'put',
    'put',
    'put',
    'delete',
    'recreate',
    'garble',
    'break',
    'expire',
    'settle',
  ),
  name: fc.constantFrom('a', 'b', 'c', 'd'),
  room: fc.constantFrom('hall', 'attic', 'cellar', 'odd'),
});

describe('informer with failing index functions, handlers and source', () => {
  it('caches every object, notifies every handler, omits failing objects from an index, and reports once per version', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 40 }), async (steps) => {
        const clock = new FakeClock();
        const logger = new RecordingLogger();
        const store = await openStore({ engine: new MemoryEngine(), clock });
        const source = new FaultySource(store.source(lamps));
        const random = seededRandom(7);
        const informer = new SharedInformer({ source, name: 'lamps', clock, random, logger });
        informer.addIndex('room', roomIndex);
        informer.addIndex('name', ({ name }) => [name]);
        const handlers = [new RecordingHandler(true), new RecordingHandler(false)];
        for (const handler of handlers) informer.addHandler(handler);
        informer.start();
        await informer.waitForSync();
        for (const { op, name, room } of steps) {
          const found = await store.get(lamps, { name });
          if (op === 'put') {
            if (found) await store.update(lamps, { ...found, room });
            else await store.create(lamps, { name, room });
          } else if (op === 'delete' || op === 'recreate') {
            if (found) await store.delete(lamps, found);
            if (op === 'recreate') await store.create(lamps, { name, room });
          } else if (op === 'garble') source.garbleNext = true;
          else if (op === 'break') source.breakOff('Unavailable');
          else if (op === 'expire') source.breakOff('OutOfRange');
          else await settle();
        }
        await clock.advance(120_000);
        const { items } = await store.list(lamps);
        const versions = new Map(items.map((o) => [o.name, o.metadata.resourceVersion]));
        expect(informer.revision).to.equal(store.revision);
        for (const handler of handlers) expect(handler.versions).to.deep.equal(versions);
        expect(new Set(informer.lister.keys())).to.deep.equal(new Set(versions.keys()));
        for (const { name } of items)
          expect(informer.lister.byIndex('name', name)).to.have.length(1);
        for (const room of ['hall', 'attic'])
          expect(informer.lister.byIndex('room', room).map((o) => o.name)).to.have.members(
            items.filter((o) => o.room === room).map((o) => o.name),
          );
        expect(
          informer.indexFaults.map(({ key, resourceVersion }) => [key, resourceVersion]),
        ).to.have.deep.members(
          [...versions].filter(([name]) => bad.has(items.find((o) => o.name === name)?.room ?? '')),
        );
        const reports = logger
          .fieldsOf('callback threw')
          .filter(({ callback }) => callback === 'index room')
          .map(({ key, resourceVersion }) => `${String(key)}@${String(resourceVersion)}`);
        expect(reports, 'once per version').to.deep.equal([...new Set(reports)]);
        await informer.close();
        await store.close();
      }),
      { numRuns: 150 },
    );
  }).timeout(180_000);
});
