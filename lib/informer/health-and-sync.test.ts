import { expect } from 'chai';
import { StatusError } from '../base/index.js';
import {
  type ApiObject,
  defineKind,
  type ListWatch,
  stored,
  type StoredBatch,
  type StoredList,
} from '../object/index.js';
import { MemoryEngine, modify, type ObjectStore, openStore } from '../store/index.js';
import { FakeClock, settle } from '../testing/index.js';
import { SharedInformer } from './index.js';

interface Lamp extends ApiObject {
  readonly tags?: readonly string[];
}
const lamps = defineKind<Lamp>({
  kind: 'Lamp',
  plural: 'lamps',
  scope: 'Cluster',
  statusFields: [],
});

/** A source that the test controls. */
class PlayedSource implements ListWatch<Lamp> {
  at = 1;
  /** The number of streams that were opened. */
  watches = 0;
  fail: Error | undefined;
  sink: (batch: StoredBatch<Lamp>) => void = () => undefined;
  end: (error?: Error) => void = () => undefined;

  list(): Promise<StoredList<Lamp>> {
    return this.fail
      ? Promise.reject(this.fail)
      : Promise.resolve({ items: [], revision: this.at });
  }

  watch(
    _revision: number,
    sink: (batch: StoredBatch<Lamp>) => void,
    signal: AbortSignal,
  ): Promise<void> {
    if (this.fail) return Promise.reject(this.fail);
    this.watches += 1;
    this.sink = sink;
    return new Promise((resolve, reject) => {
      this.end = (error) => (error ? reject(error) : resolve());
      signal.addEventListener('abort', () => resolve(), { once: true });
    });
  }

  currentRevision?: () => number;
  silenceMs?: number;
}

describe('health of an informer', () => {
  let clock: FakeClock;
  let source: PlayedSource;
  let informer: SharedInformer<Lamp>;

  beforeEach(() => {
    clock = new FakeClock();
    source = new PlayedSource();
  });
  afterEach(() => informer.close());

  async function start(more: { silenceMs?: number } = {}): Promise<void> {
    const backoff = { baseMs: 1_000, maxMs: 10_000, jitter: 0 };
    informer = new SharedInformer({ source, name: 'lamps', clock, backoff, ...more });
    informer.start();
    await settle();
  }

  it('reports for how long the first list has failed, and why', async () => {
    source.fail = new Error('connection refused');
    await start();
    await clock.advance(20_000);
    expect(informer.health()).to.deep.equal({
      healthy: false,
      message: 'not synced yet, for 20 s (connection refused)',
    });
    expect(informer.waitingFor).to.deep.equal([
      'the list of lamps (not synced yet, for 20 s (connection refused))',
    ]);
  });

  it('is unhealthy when the watch has failed for half a minute, reports the duration, and recovers with the first batch', async () => {
    await start();
    source.fail = new Error('connection refused');
    source.end(new Error('connection reset'));
    await clock.advance(29_000);
    expect(informer.health().healthy).to.equal(true);
    await clock.advance(3_571_000);
    expect(informer.health()).to.deep.equal({
      healthy: false,
      message: 'the watch has failed for 3600 s (connection refused); the cache is at revision 1',
    });
    source.fail = undefined;
    await clock.advance(10_000);
    source.sink({ revision: 2, events: [] });
    expect(informer.health()).to.deep.equal({ healthy: true, message: 'synced at revision 2' });
  });

  it('the watch recovers soon after an outage, regardless of how many preceded it, if the stream advanced between them', async () => {
    await start();
    for (let outage = 1; outage <= 12; outage += 1) {
      source.fail = new Error('connection refused');
      source.end(new Error('connection reset'));
      // Long enough for some retries: the next one is due within four seconds.
      await clock.advance(3_500);
      source.fail = undefined;
      await clock.advance(4_000);
      source.sink({ revision: outage + 1, events: [] });
      expect(informer.health().message, `outage ${outage}`).to.equal(
        `synced at revision ${outage + 1}`,
      );
    }
  });

  it('a stream that advances and breaks repeatedly is retried with backoff', async () => {
    await start();
    let streams = 0;
    for (let n = 1; n <= 50; n += 1) {
      const before = source.watches;
      source.sink({ revision: n + 1, events: [] });
      source.end(new Error('connection reset'));
      await clock.advance(100);
      if (source.watches > before) streams += 1;
    }
    expect(streams).to.be.within(1, 10);
  });

  it('is healthy if streams end occasionally, and unhealthy if each ends within half a minute without a message', async () => {
    await start();
    for (let n = 0; n < 5; n += 1) {
      await clock.advance(60_000);
      source.end();
      await clock.advance(40_000);
      expect(informer.health().healthy).to.equal(true);
    }
    for (let n = 0; n < 12; n += 1) {
      source.end();
      await clock.advance(10_000);
    }
    expect(informer.health().healthy).to.equal(false);
  });

  for (const owner of ['its options', 'its source'])
    it(`is unhealthy if streams stay silent for longer than silenceMs of ${owner}, also after a restart of the stream`, async () => {
      if (owner === 'its source') source.silenceMs = 60_000;
      await start(owner === 'its source' ? {} : { silenceMs: 60_000 });
      await clock.advance(60_000);
      expect(informer.health().healthy).to.equal(true);
      await clock.advance(50_000);
      expect(informer.health().message).to.match(
        /the watch has failed for \d+ s \(the stream ended\)/,
      );
    });

  it('is unhealthy when its source is ahead and the cache does not advance', async () => {
    source.currentRevision = () => source.at;
    await start();
    source.at = 9;
    await clock.advance(40_000);
    expect(informer.health()).to.deep.equal({
      healthy: false,
      message: 'the cache is at revision 1, its source at 9; it has not advanced for 40 s',
    });
  });

  it('is unhealthy when a handler does not return, and names it', async () => {
    await start();
    informer.addHandler({ onAdd: () => new Promise(() => undefined) }, { name: 'export' });
    const metadata = {
      uid: 'a',
      resourceVersion: '2',
      generation: 1,
      createdAt: '',
      updatedAt: '',
    };
    const entry = stored<Lamp>({ name: 'a', metadata });
    source.sink({ revision: 2, events: [{ type: 'set', entry }] });
    await clock.advance(301_000);
    expect(informer.health()).to.deep.equal({
      healthy: false,
      message: 'handler "export" has not returned for 301 s; 0 changes wait for it',
    });
  });
});

describe('sync of handlers', () => {
  let store: ObjectStore;
  beforeEach(async () => {
    store = await openStore({ engine: new MemoryEngine() });
  });
  afterEach(() => store.close());
  const make = (): SharedInformer<Lamp> =>
    new SharedInformer({ source: store.source(lamps), name: 'lamps' });

  it('a slow handler syncs during continuous writes: only the objects of the first list count', async () => {
    for (const name of ['a', 'b', 'c']) await store.create(lamps, { name });
    await using informer = make();
    let writes = 0;
    // Each call writes every object, so that changes are always pending.
    const registration = informer.addHandler({
      onAdd: () => write(),
      onUpdate: () => write(),
    });
    const write = async (): Promise<void> => {
      writes += 1;
      if (writes > 1_000) return;
      for (const name of ['a', 'b', 'c'])
        await modify(store, lamps, { name }, (lamp) => ({ ...lamp, tags: [String(writes)] }));
    };
    informer.start();
    await registration.waitForSync();
    expect(writes).to.be.lessThan(1_000);
  });

  it('a hanging handler blocks neither the cache nor other handlers, and is named', async () => {
    await store.create(lamps, { name: 'a' });
    await using informer = make();
    informer.addHandler({ onAdd: () => new Promise(() => undefined) }, { name: 'export' });
    const other = informer.addHandler({});
    informer.start();
    await informer.waitForCache();
    await other.waitForSync();
    expect(other.hasSynced()).to.equal(true);
    expect(informer.waitingFor).to.deep.equal(['handler "export" of lamps']);
  });

  it('a removed handler is not called again, not even between the delete and the add of a replacement, and blocks no wait', async () => {
    const first = await store.create(lamps, { name: 'a' });
    await using informer = make();
    const seen: string[] = [];
    let open: () => void = () => undefined;
    const registration = informer.addHandler({
      onAdd: async ({ metadata }) => {
        seen.push(`add ${metadata.uid === first.metadata.uid ? 1 : 2}`);
        await new Promise<void>((resolve) => (open = resolve));
      },
      onDelete: () => {
        seen.push('delete 1');
        registration.remove();
      },
    });
    informer.start();
    await settle();
    await store.deleteByName(lamps, { name: 'a' });
    await store.create(lamps, { name: 'a' });
    open();
    await settle();
    expect(seen).to.deep.equal(['add 1', 'delete 1']);
    await informer.waitForSync();
  });

  it('a closed informer refuses handlers and a start, rejects waits, and is unhealthy', async () => {
    const never: ListWatch<Lamp> = {
      list: () => new Promise(() => undefined),
      watch: () => Promise.resolve(),
    };
    const informer = new SharedInformer({ source: never, name: 'lamps' });
    const waiting = informer.addHandler({}).waitForSync();
    const syncing = informer.waitForSync();
    informer.start();
    await informer.close();
    for (const wait of [waiting, syncing, informer.waitForCache()])
      expect(String(await wait.catch((error: unknown) => error))).to.contain('is closed');
    expect(() => informer.addHandler({})).to.throw(StatusError, 'is closed');
    expect(() => informer.start()).to.throw(StatusError, 'is closed');
    expect(informer.health()).to.deep.equal({ healthy: false, message: 'closed' });
  });
});
