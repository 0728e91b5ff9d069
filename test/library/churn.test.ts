import { expect } from 'chai';
import {
  type ApiObject,
  defineKind,
  done,
  Manager,
  MemoryEngine,
  modify,
  newController,
  openStore,
  requeueAfter,
  retry,
  seededRandom,
} from 'kedge';
import { FakeClock, settle } from 'kedge/testing';

interface Lamp extends ApiObject {
  readonly on?: boolean;
  readonly lit?: boolean;
}
const lamps = defineKind<Lamp>({
  kind: 'Lamp',
  plural: 'lamps',
  scope: 'Cluster',
  statusFields: ['lit'],
});

describe('an hour of churn on a simulated clock', function () {
  this.timeout(180_000);

  it('leaves no queues, backoffs, timers, watchers, handlers or memory behind', async () => {
    const clock = new FakeClock();
    const random = seededRandom(11);
    const engine = new MemoryEngine();
    const store = await openStore({ engine, clock, historyEvents: 500, historyAgeMs: 1_000 });
    const manager = new Manager({ store, clock, random, compactionIntervalMs: 10_000 });
    const informer = manager.informer(lamps);
    const controller = newController({
      name: 'lamp',
      store,
      clock,
      random,
      backoff: { baseMs: 50, maxMs: 2_000 },
      reconcile: async ({ key }) => {
        const lamp = informer.lister.get(key.name);
        if (!lamp) return done();
        if (random.next() < 0.2) return retry(new Error('no power'));
        if (lamp.lit !== lamp.on) await store.updateStatus(lamps, key, { lit: lamp.on ?? false });
        return random.next() < 0.2 ? requeueAfter(5_000) : done();
      },
    }).for(informer);
    manager.addController(controller);
    await manager.start();

    /** Objects are created, changed and deleted for a minute while watchers and handlers come and go. */
    const minute = async (n: number): Promise<void> => {
      for (let second = 0; second < 60; second += 5) {
        const stop = new AbortController();
        const handler = informer.addHandler({});
        const extra = controller.addWatch(informer, () => []);
        const watch = (async () => {
          for await (const batch of store.watch(lamps, {
            fromRevision: store.revision,
            signal: stop.signal,
            bookmarkMs: 1_000,
          }))
            void batch;
        })();
        for (let i = 0; i < 20; i += 1) {
          const name = `lamp-${n}-${second}-${i}`;
          await store.create(lamps, { name, on: true });
          await modify(store, lamps, { name }, (found) => ({ ...found, on: false }));
        }
        await clock.advance(5_000);
        const { items } = await store.list(lamps);
        await Promise.all(items.map((lamp) => store.deleteByName(lamps, { name: lamp.name })));
        stop.abort();
        await watch;
        handler.remove();
        extra.remove();
      }
    };
    const measure = async (): Promise<{ heap: number; timers: number; records: number }> => {
      await clock.advance(30_000);
      await settle();
      global.gc?.();
      let records = 0;
      for await (const chunk of engine.scan(0)) records += chunk.length;
      return { heap: process.memoryUsage().heapUsed, timers: clock.pending, records };
    };

    // Until bounded structures, such as the ring of recent events, are full.
    const warmUp = 15;
    for (let n = 0; n < warmUp; n += 1) await minute(n);
    const before = await measure();
    for (let n = warmUp; n < 60; n += 1) await minute(n);
    const after = await measure();
    expect(controller.stats()).to.include({ active: 0, queued: 0, delayed: 0 });
    expect(after.timers).to.be.at.most(before.timers);
    expect(after.records).to.be.at.most(1_500);
    // Without access to the collector the heap size is meaningless.
    if (global.gc) expect(after.heap - before.heap).to.be.lessThan(3 * 1024 * 1024);
    await manager.stop(1_000);
    await store.close();
    expect(clock.pending).to.equal(0);
  });
});
