import { expect } from 'chai';
import { hasCode, limits } from '../../base/index.js';
import {
  type ApiObject,
  defineKind,
  type NewObject,
  type StoredBatch,
} from '../../object/index.js';
import { RecordingLogger, settle } from '../../testing/index.js';
import { MemoryEngine, type ObjectStore, openStore } from '../index.js';

const lamps = defineKind<ApiObject>({
  kind: 'Lamp',
  plural: 'lamps',
  scope: 'Cluster',
  statusFields: [],
});

describe('sinks of a watch in process', () => {
  let store: ObjectStore;
  let logger: RecordingLogger;
  let stop: AbortController;

  beforeEach(async () => {
    logger = new RecordingLogger();
    store = await openStore({ engine: new MemoryEngine(), logger });
    stop = new AbortController();
  });
  afterEach(async () => {
    stop.abort();
    await store.close();
  });

  type Sink = (batch: StoredBatch<ApiObject>) => void;
  interface Watching {
    readonly seen: number[];
    ended: unknown;
  }
  function watch(fail?: (revision: number) => void): Watching {
    const watching: Watching = { seen: [], ended: 'no' };
    const sink: Sink = ({ revision }) => {
      watching.seen.push(revision);
      return fail?.(revision);
    };
    store
      .source(lamps)
      .watch(store.revision, sink, stop.signal)
      .then(
        () => (watching.ended = 'aborted'),
        (error: unknown) => (watching.ended = error),
      );
    return watching;
  }

  it('one that throws ends its own subscription with its error; the commit and the other sinks continue', async () => {
    const before = watch();
    const broken = watch((revision) => {
      if (revision === 2) throw new Error('no room');
    });
    const after = watch();
    await settle();
    for (const name of ['a', 'b', 'c']) await store.create(lamps, { name });
    await settle();
    expect(before.seen).to.deep.equal([0, 1, 2, 3]);
    expect(after.seen).to.deep.equal([0, 1, 2, 3]);
    expect(broken.seen, 'nothing after the missed events').to.deep.equal([0, 1, 2]);
    expect(hasCode(broken.ended, 'Internal') && broken.ended.message).to.equal('no room');
    expect(logger.fieldsOf('the sink of a watch threw; its subscription ends')).to.have.length(1);
  });

  it('one that throws while it catches up is not subscribed', async () => {
    await store.create(lamps, { name: 'a' });
    const broken = watch(() => {
      throw new Error('no room');
    });
    await settle();
    await store.create(lamps, { name: 'b' });
    expect(broken.seen).to.deep.equal([1]);
    expect(String(broken.ended)).to.contain('no room');
  });

  it('one that returns a rejecting promise ends its subscription, and no rejection is unhandled', async () => {
    const broken = watch((revision) =>
      revision === 1 ? (Promise.reject(new Error('later')) as never) : undefined,
    );
    await settle();
    for (const name of ['a', 'b']) {
      await store.create(lamps, { name });
      await settle();
    }
    expect(broken.seen).to.deep.equal([0, 1]);
    expect(String(broken.ended)).to.contain('later');
  });

  it('none is called after its signal aborted', async () => {
    const watching = watch();
    await settle();
    stop.abort();
    await store.create(lamps, { name: 'a' });
    expect(watching.seen).to.deep.equal([0]);
    expect(watching.ended).to.equal('aborted');
  });
});

describe('batches of a watch', () => {
  it('begin after the writes of other kinds, regardless of their number: the log is not read', async () => {
    const rooms = defineKind<ApiObject>({
      kind: 'Room',
      plural: 'rooms',
      scope: 'Cluster',
      statusFields: [],
    });
    const engine = new MemoryEngine();
    await using store = await openStore({ engine });
    const stop = new AbortController();
    const found: unknown[] = [];
    const follow = async (): Promise<void> => {
      const options = { fromRevision: store.revision, signal: stop.signal };
      for await (const { revision, events } of store.watch(rooms, options))
        found.push([revision, events.map(({ object }) => object.name)]);
    };
    const over = follow();
    await settle();
    engine.scan = () => {
      throw new Error('the log is read');
    };
    // Few transactions: the ring counts events.
    const perTransaction = limits.transactionOperationsMax;
    for (let done = 0; done <= limits.watchRingEvents; done += perTransaction)
      await store.transact(
        Array.from({ length: perTransaction }, (_, n) => ({
          op: 'create' as const,
          kind: lamps,
          object: { name: `n-${done + n}` },
        })),
      );
    const { revision } = store;
    await store.create(rooms, { name: 'a' });
    await settle();
    expect(found).to.deep.equal([[revision + 1, ['a']]]);
    stop.abort();
    await over;
  });

  it('have few large objects, in memory and in the log, so that a watcher that is not read keeps little', async () => {
    const engine = new MemoryEngine();
    const bytes = 60_000;
    const count = (3 * limits.watchBatchBytes) / bytes;
    const store = await openStore({ engine });
    const big = 'x'.repeat(bytes);
    for (let n = 0; n < count; n += 1)
      await store.create(lamps, { name: `n-${n}`, big } as NewObject<ApiObject>);
    const requireSmall = async (from: ObjectStore): Promise<void> => {
      const names: string[] = [];
      const stop = new AbortController();
      for await (const { events } of from.watch(lamps, { fromRevision: 0, signal: stop.signal })) {
        expect(events.length * bytes).to.be.at.most(limits.watchBatchBytes + bytes);
        names.push(...events.map(({ object }) => object.name));
        if (names.length >= count) break;
      }
      expect(names).to.deep.equal(Array.from({ length: Math.ceil(count) }, (_, n) => `n-${n}`));
    };
    await requireSmall(store);
    await store.close();
    await using again = await openStore({ engine });
    await requireSmall(again);
  });
});
