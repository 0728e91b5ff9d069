import { expect } from 'chai';
import { seededRandom, StatusError } from '../base/index.js';
import { type ApiObject, defineKind, type ListWatch } from '../object/index.js';
import { MemoryEngine, type ObjectStore, openStore } from '../store/index.js';
import { FakeClock, RecordingLogger, RecordingMetrics, settle } from '../testing/index.js';
import { SharedInformer } from './index.js';

interface Lamp extends ApiObject {
  readonly tags?: readonly string[];
  readonly bad?: boolean;
}
const lamps = defineKind<Lamp>({
  kind: 'Lamp',
  plural: 'lamps',
  scope: 'Cluster',
  statusFields: [],
});
const tags = (lamp: Lamp): readonly string[] => {
  if (lamp.bad) throw new Error('no tags');
  return lamp.tags ?? [];
};

describe('faults of callbacks of an informer', () => {
  let store: ObjectStore;
  let clock: FakeClock;
  let logger: RecordingLogger;
  let metrics: RecordingMetrics;

  beforeEach(async () => {
    clock = new FakeClock();
    logger = new RecordingLogger();
    metrics = new RecordingMetrics();
    store = await openStore({ engine: new MemoryEngine(), clock });
  });
  afterEach(() => store.close());

  function make(source: ListWatch<Lamp> = store.source(lamps)): SharedInformer<Lamp> {
    const random = seededRandom(1);
    return new SharedInformer({ source, name: 'lamps', clock, random, logger, metrics });
  }
  const reported = (): readonly unknown[] =>
    logger.fieldsOf('callback threw').map(({ callback, index, key }) => [callback, index, key]);
  const faults = (callback: string): number =>
    metrics.value('callback_faults_total', { part: 'informer lamps', callback });

  it('an object whose index function throws is cached and delivered; only that index lacks it, and other objects of the transaction are complete', async () => {
    await using informer = make();
    informer.addIndex('tag', tags);
    informer.addIndex('first', (lamp) => [lamp.name.slice(0, 1)]);
    const added: string[] = [];
    informer.addHandler({ onAdd: ({ name }) => void added.push(name) });
    informer.start();
    await informer.waitForSync();
    await store.transact(
      ['a', 'bad', 'c'].map((name) => ({
        op: 'create',
        kind: lamps,
        object: { name, tags: ['x'], bad: name === 'bad' } as never,
      })),
    );
    await settle();
    expect(added).to.deep.equal(['a', 'bad', 'c']);
    expect([...informer.lister.keys()]).to.deep.equal(['a', 'bad', 'c']);
    expect(informer.lister.byIndex('tag', 'x').map((o) => o.name)).to.deep.equal(['a', 'c']);
    expect(informer.lister.byIndex('first', 'b').map((o) => o.name)).to.deep.equal(['bad']);
    expect(informer.revision).to.equal(store.revision);
  });

  it('a fault of an index is reported once per version with index and key, stays in health, and ends with a valid version', async () => {
    await using informer = make();
    informer.addIndex('tag', tags);
    informer.start();
    await informer.waitForSync();
    const bad = await store.create(lamps, { name: 'a', tags: ['x'], bad: true });
    await settle();
    expect(reported()).to.deep.equal([['index tag', 'tag', 'a']]);
    expect(faults('index tag')).to.equal(1);
    expect(informer.health()).to.deep.equal({
      healthy: true,
      message: 'synced at revision 1; index "tag" lacks "a" (no tags)',
    });
    const worse = await store.update(lamps, { ...bad, tags: ['y'] });
    await settle();
    expect(reported(), 'another version').to.have.length(2);
    await store.update(lamps, { ...worse, bad: false });
    expect(informer.indexFaults).to.deep.equal([]);
    expect(informer.lister.byIndex('tag', 'y')).to.have.length(1);
    expect(informer.health().message).to.equal('synced at revision 3');
    expect(reported()).to.have.length(2);
  });

  it('an invalid object does not block the first list', async () => {
    await store.create(lamps, { name: 'a', bad: true });
    await store.create(lamps, { name: 'b', tags: ['x'] });
    await using informer = make();
    informer.addIndex('tag', tags);
    informer.start();
    await informer.waitForSync();
    expect(informer.lister.list()).to.have.length(2);
    expect(informer.indexFaults.map(({ key }) => key)).to.deep.equal(['a']);
  });

  it('a result other than a list of strings is a fault too, as is a promise, whose rejection is handled', async () => {
    const given = [
      undefined,
      'text',
      [1],
      5,
      new Set(['x']),
      Promise.reject(new Error('later')),
    ] as unknown[];
    await using informer = make();
    informer.addIndex('odd', ({ name }) => given[Number(name)] as string[]);
    informer.start();
    await informer.waitForSync();
    for (const name of given.keys()) await store.create(lamps, { name: String(name) });
    await settle();
    expect(informer.indexFaults.map(({ key }) => key)).to.deep.equal([
      '0',
      '1',
      '2',
      '3',
      '4',
      '5',
    ]);
    expect(informer.lister.list()).to.have.length(given.length);
  });

  it('an index function that throws only at the removal leaves no entry behind', async () => {
    let broken = false;
    await using informer = make();
    informer.addIndex('tag', (lamp) => {
      if (broken) throw new Error('called at the removal');
      return lamp.tags ?? [];
    });
    informer.start();
    await informer.waitForSync();
    await store.create(lamps, { name: 'a', tags: ['x', 'y'] });
    broken = true;
    await store.deleteByName(lamps, { name: 'a' });
    broken = false;
    await store.create(lamps, { name: 'a', tags: ['z'] });
    expect(informer.lister.byIndex('tag', 'x')).to.deep.equal([]);
    expect(informer.lister.byIndex('tag', 'z')).to.have.length(1);
  });

  it('an invalid batch causes a relist with backoff, and loses no change', async () => {
    const inner = store.source(lamps);
    let lists = 0;
    const source: ListWatch<Lamp> = {
      list: (signal) => {
        lists += 1;
        return inner.list(signal);
      },
      // Each batch with events has one invalid event.
      watch: (revision, sink, signal) =>
        inner.watch(
          revision,
          (batch) =>
            sink(
              batch.events.length === 0
                ? batch
                : ({ ...batch, events: [...batch.events, undefined] } as never),
            ),
          signal,
        ),
    };
    await using informer = make(source);
    const added: string[] = [];
    informer.addHandler({ onAdd: ({ name }) => void added.push(name) });
    informer.start();
    await informer.waitForSync();
    for (let n = 0; n < 200; n += 1) {
      await store.create(lamps, { name: `a${n}` });
      await clock.advance(100);
    }
    await clock.advance(60_000);
    expect(informer.lister.list()).to.have.length(200);
    expect(new Set(added).size).to.equal(200);
    expect(informer.revision).to.equal(store.revision);
    expect(lists, 'lists in 20 s with faults and 60 s without').to.be.lessThan(12);
  });

  it('a handler that throws is reported with its name and the key, and gets the next change', async () => {
    await using informer = make();
    const seen: string[] = [];
    const receive = (name: string): void => {
      seen.push(name);
      if (name === 'a') throw new Error('no');
    };
    informer.addHandler({ onAdd: ({ name }) => receive(name) }, { name: 'tally' });
    informer.addHandler({
      onAdd: async ({ name }) => {
        await Promise.resolve();
        receive(name);
      },
    });
    informer.start();
    await informer.waitForSync();
    for (const name of ['a', 'b']) await store.create(lamps, { name });
    await settle();
    expect(seen.sort()).to.deep.equal(['a', 'a', 'b', 'b']);
    expect(
      logger.fieldsOf('callback threw').map(({ handler, key }) => [handler, key]),
    ).to.deep.equal([
      ['tally', 'a'],
      ['handler 2', 'a'],
    ]);
    expect(faults('handler')).to.equal(2);
  });

  it('a throwing onDelete does not hide the add of another object of that name', async () => {
    await using informer = make();
    const seen: string[] = [];
    let open: () => void = () => undefined;
    informer.addHandler({
      onAdd: async ({ metadata }) => {
        seen.push(metadata.uid);
        if (seen.length === 1) await new Promise<void>((resolve) => (open = resolve));
      },
      onDelete: () => {
        throw new Error('no');
      },
    });
    informer.start();
    await informer.waitForSync();
    const first = await store.create(lamps, { name: 'a' });
    await settle();
    await store.deleteByName(lamps, { name: 'a' });
    const second = await store.create(lamps, { name: 'a' });
    open();
    await settle();
    expect(seen).to.deep.equal([first.metadata.uid, second.metadata.uid]);
  });

  it('a logger and metrics that throw affect neither the cache nor handlers', async () => {
    const broken = (): never => {
      throw new Error('broken');
    };
    const noLog = { debug: broken, info: broken, warn: broken, error: broken, child: broken };
    await using informer = new SharedInformer({
      source: store.source(lamps),
      name: 'lamps',
      clock,
      logger: noLog,
      metrics: {
        counter: () => ({ inc: broken }),
        gauge: () => ({ set: broken }),
        histogram: () => ({ observe: broken }),
      },
    });
    informer.addIndex('tag', tags);
    const added: string[] = [];
    informer.addHandler({
      onAdd: ({ name }) => {
        added.push(name);
        throw new Error('no');
      },
    });
    informer.start();
    await informer.waitForSync();
    for (const name of ['a', 'b']) await store.create(lamps, { name, bad: true });
    await settle();
    expect(added).to.deep.equal(['a', 'b']);
    expect(informer.lister.list()).to.have.length(2);
  });

  it('obeys the delay that its source requests', async () => {
    let lists = 0;
    const source: ListWatch<Lamp> = {
      list: () => {
        lists += 1;
        return Promise.reject(
          new StatusError({
            code: 'ResourceExhausted',
            reason: 'Throttled',
            message: 'slow down',
            retryAfterMs: 40_000,
          }),
        );
      },
      watch: () => Promise.resolve(),
    };
    await using informer = make(source);
    informer.start();
    await clock.advance(39_999);
    expect(lists).to.equal(1);
    await clock.advance(1);
    expect(lists).to.equal(2);
  });
});
