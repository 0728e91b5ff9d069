import { expect } from 'chai';
import fc from 'fast-check';
import { seededRandom, StatusError } from '../base/index.js';
import { type ApiObject, defineKind, type ListWatch, type StoredBatch } from '../object/index.js';
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

/** A source that breaks streams, delays batches and compacts history under control of the test. */
class Troubled implements ListWatch<Lamp> {
  readonly #inner: ListWatch<Lamp>;
  #break: (error?: Error) => void = () => undefined;
  #held: StoredBatch<Lamp>[] | undefined;
  #sink: (batch: StoredBatch<Lamp>) => void = () => undefined;

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
    const stop = new AbortController();
    signal.addEventListener('abort', () => stop.abort(), { once: true });
    const broken = new Promise<void>((resolve, reject) => {
      this.#break = (error) => {
        stop.abort();
        if (error) reject(error);
        else resolve();
      };
    });
    broken.catch(() => undefined);
    this.#sink = (batch) => {
      if (!stop.signal.aborted) sink(batch);
    };
    const watching = this.#inner.watch(
      revision,
      (batch) => (this.#held ? this.#held.push(batch) : this.#sink(batch)),
      stop.signal,
    );
    await Promise.race([broken, watching]);
  }

  /** Holds batches back until {@link release}. */
  hold(): void {
    this.#held ??= [];
  }

  release(): void {
    const held = this.#held ?? [];
    this.#held = undefined;
    for (const batch of held) this.#sink(batch);
  }

  breakOff(reason: 'end' | 'error' | 'expired'): void {
    this.#held = undefined;
    if (reason === 'end') return this.#break();
    const code = reason === 'expired' ? 'OutOfRange' : 'Unavailable';
    this.#break(new StatusError({ code, reason, message: reason }));
  }
}

describe('informer against its store', () => {
  const step = fc.record({
    op: fc.constantFrom(
      'put',
      'put',
      'put',
      'delete',
      'recreate',
      'hold',
      'release',
      'end',
      'error',
      'expired',
      'settle',
    ),
    name: fc.constantFrom('a', 'b', 'c', 'd'),
    room: fc.constantFrom('hall', 'attic'),
  });

  it('the cache always equals the store at its revision, and handlers converge to it, regardless of faults', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 40 }), async (steps) => {
        const clock = new FakeClock();
        const store = await openStore({ engine: new MemoryEngine(), clock });
        const source = new Troubled(store.source(lamps));
        const random = seededRandom(7);
        const informer = new SharedInformer({ source, name: 'lamps', clock, random });
        informer.addIndex('room', (o) => (o.room ? [o.room] : []));
        const delivered = new Map<string, string>();
        const uids = new Map<string, string>();
        informer.addHandler({
          onAdd: (o) => {
            expect(delivered.has(o.name), `add of ${o.name}, which exists`).to.equal(false);
            delivered.set(o.name, o.metadata.resourceVersion);
            uids.set(o.name, o.metadata.uid);
          },
          onUpdate: (before, o) => {
            expect(uids.get(o.name)).to.equal(o.metadata.uid);
            expect(before.metadata.uid).to.equal(o.metadata.uid);
            delivered.set(o.name, o.metadata.resourceVersion);
          },
          onDelete: ({ object }) => {
            expect(delivered.delete(object.name), `delete of ${object.name}, unknown`).to.equal(
              true,
            );
          },
        });
        const states = new Map<number, string>();
        const describeAll = (objects: readonly Lamp[]): string =>
          JSON.stringify(objects.map((o) => [o.name, o.metadata.resourceVersion]).sort());
        const note = async (): Promise<void> => {
          states.set(store.revision, describeAll((await store.list(lamps)).items));
        };
        const check = (): void => {
          const { revision } = informer;
          if (revision === undefined) return;
          expect(describeAll(informer.lister.list()), `at ${revision}`).to.equal(
            states.get(revision),
          );
          for (const room of ['hall', 'attic'])
            expect(informer.lister.byIndex('room', room).map((o) => o.name)).to.have.members(
              informer.lister.list().flatMap((o) => (o.room === room ? [o.name] : [])),
            );
        };
        await note();
        informer.start();
        let last = -1;
        for (const { op, name, room } of steps) {
          if (op === 'put') {
            const found = await store.get(lamps, { name });
            if (found) await store.update(lamps, { ...found, room });
            else await store.create(lamps, { name, room });
          } else if (op === 'delete' || op === 'recreate') {
            await store.deleteByName(lamps, { name }).catch(() => undefined);
            await note();
            if (op === 'recreate') await store.create(lamps, { name, room });
          } else if (op === 'hold') source.hold();
          else if (op === 'release') source.release();
          else if (op === 'settle') await clock.advance(60_000);
          else source.breakOff(op);
          await note();
          check();
          expect(informer.revision ?? -1, 'the revision never decreases').to.be.greaterThanOrEqual(
            last,
          );
          last = informer.revision ?? -1;
        }
        source.release();
        await clock.advance(120_000);
        await settle();
        check();
        expect(informer.revision).to.equal(store.revision);
        const present = (await store.list(lamps)).items;
        expect([...delivered].sort()).to.deep.equal(
          present.map((o) => [o.name, o.metadata.resourceVersion]).sort(),
        );
        await informer.close();
        await store.close();
        expect(clock.pending).to.equal(0);
      }),
      { numRuns: 60 },
    );
  });
});
