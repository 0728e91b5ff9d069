import { expect } from 'chai';
import { hasCode, seededRandom } from '../base/index.js';
import { done, newController } from '../controller/index.js';
import { type ApiObject, defineKind, kindOf, type ListWatch } from '../object/index.js';
import { MemoryEngine, type ObjectStore, openStore } from '../store/index.js';
import { FakeClock, RecordingLogger, RecordingMetrics, settle } from '../testing/index.js';
import { Manager } from './index.js';

interface Lamp extends ApiObject {
  readonly tags?: readonly string[];
}
const lamps = kindOf<Lamp>()({
  kind: 'Lamp',
  plural: 'lamps',
  scope: 'Cluster',
  statusFields: [],
  // Throws for an object without tags.
  indexes: { tag: (lamp) => [...(lamp.tags as readonly string[])] },
});
/** The kind before it had an index: the index function may throw for objects that were stored then. */
const plain = defineKind<Lamp>({
  kind: 'Lamp',
  plural: 'lamps',
  scope: 'Cluster',
  statusFields: [],
});

describe('caches of a manager', () => {
  let store: ObjectStore;
  let clock: FakeClock;
  let logger: RecordingLogger;
  let metrics: RecordingMetrics;
  let manager: Manager;
  let runs: string[];

  beforeEach(async () => {
    clock = new FakeClock();
    logger = new RecordingLogger();
    metrics = new RecordingMetrics();
    store = await openStore({ engine: new MemoryEngine(), clock, logger });
    runs = [];
  });
  afterEach(async () => {
    await manager.stop(0);
    await store.close();
  });

  function make(over: ObjectStore = store): void {
    const random = seededRandom(1);
    manager = new Manager({ store: over, clock, random, logger, metrics, syncTimeoutMs: 10_000 });
    manager.addController(
      newController({
        name: 'lamp',
        clock,
        reconcile: async ({ key }) => {
          runs.push(key.name);
          return done();
        },
      }).for(manager.informer(lamps)),
    );
  }
  const health = (): { readonly healthy: boolean; readonly message: string } | undefined =>
    manager.health().find(({ name }) => name === 'informer Lamp');
  /** The store with another source for informers. */
  const following = (source: Partial<ListWatch<Lamp>>): ObjectStore =>
    new Proxy(store, {
      get: (target, field) => {
        if (field === 'source') return () => ({ ...target.source(lamps), ...source });
        const value: unknown = Reflect.get(target, field);
        return typeof value === 'function' ? (value.bind(target) as unknown) : value;
      },
    });

  it('an object whose index function throws reaches its controller, as do other objects of its transaction, now and after a restart', async () => {
    make();
    await manager.start();
    const objects = [{ name: 'a', tags: ['x'] }, { name: 'bad' }, { name: 'c', tags: ['x'] }];
    await store.transact(
      objects.map((object) => ({ op: 'create', kind: plain, object: object as never })),
    );
    await settle();
    const names = ['a', 'bad', 'c'];
    expect([...runs].sort()).to.deep.equal(names);
    const { lister } = manager.informer(lamps);
    expect(lister.byIndex('tag', 'x').map(({ name }) => name)).to.deep.equal(['a', 'c']);
    expect(health()?.healthy).to.equal(true);
    expect(health()?.message).to.match(/^synced at revision 1; index "tag" lacks "bad" \(/);
    expect(
      metrics.value('callback_faults_total', { part: 'informer lamps', callback: 'index tag' }),
    ).to.equal(1);
    await manager.stop(0);
    runs = [];
    make();
    await manager.start();
    await settle();
    expect([...runs].sort()).to.deep.equal(names);
  });

  it('a hanging handler of the embedder blocks neither the start nor a controller, and health names it', async () => {
    await store.create(lamps, { name: 'a', tags: [] });
    make();
    const hangs = { onAdd: () => new Promise<void>(() => undefined) };
    manager.informer(lamps).addHandler(hangs, { name: 'export' });
    await manager.start();
    await settle();
    expect(runs).to.deep.equal(['a']);
    expect(manager.informer(lamps).waitingFor).to.deep.equal(['handler "export" of lamps']);
    await clock.advance(301_000);
    expect(health()?.healthy).to.equal(false);
    expect(health()?.message).to.contain('handler "export" has not returned for 301 s');
  });

  it('a start that times out names the caches, for how long they failed, and why', async () => {
    make(following({ list: () => Promise.reject(new Error('connection refused')) }));
    let error: unknown;
    const starting = manager.start().catch((e: unknown) => (error = e));
    await clock.advance(20_000);
    await starting;
    expect(hasCode(error, 'DeadlineExceeded') && error.reason).to.equal('CacheSyncTimeout');
    expect(String(error)).to.match(/Lamp \(not synced yet, for 10 s \(connection refused\)\)/);
  });

  it('a cache that lags behind its source is unhealthy, with its lag and the duration', async () => {
    // A faulty source that loses events.
    make(following({ watch: () => new Promise(() => undefined) }));
    await manager.start();
    await store.create(lamps, { name: 'a', tags: [] });
    expect(health()?.healthy).to.equal(true);
    await clock.advance(45_000);
    expect(health()).to.deep.include({
      healthy: false,
      message: 'the cache is at revision 0, its source at 1; it has not advanced for 45 s',
    });
  });

  it('health reports an hour of failed watches', async () => {
    make(following({ watch: () => Promise.reject(new Error('connection refused')) }));
    await manager.start();
    await clock.advance(3_600_000);
    expect(health()?.healthy).to.equal(false);
    expect(health()?.message).to.equal(
      'the watch has failed for 3600 s (connection refused); the cache is at revision 0',
    );
  });
});
