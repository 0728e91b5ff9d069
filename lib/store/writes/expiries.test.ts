import { expect } from 'chai';
import { type Clock, StatusError } from '../../base/index.js';
import { type ApiObject, defineKind } from '../../object/index.js';
import { FakeClock, settle } from '../../testing/index.js';
import { Expiries } from './expiries.js';
import { type Engine, type EngineRecord, MemoryEngine, openStore } from '../index.js';
import type { Expiry } from '../log/restore.js';

const things = defineKind<ApiObject>({
  kind: 'Thing',
  plural: 'things',
  scope: 'Cluster',
  statusFields: [],
});

/** A clock whose wall time jumps; its timers are not affected. */
class JumpingClock implements Clock {
  readonly fake = new FakeClock();
  offsetMs = 0;
  now = (): number => this.fake.now() + this.offsetMs;
  monotonic = (): number => this.fake.monotonic();
  setTimer: Clock['setTimer'] = (callback, delayMs) => this.fake.setTimer(callback, delayMs);
  turnAgeMs = (): number => 0;
  defer: Clock['defer'] = (callback) => this.fake.defer(callback);
}

const hourMs = 3_600_000;

describe('expiries', () => {
  it('follow the wall clock when it jumps forward, within ten seconds', async () => {
    const clock = new JumpingClock();
    const expired: string[] = [];
    const expiries = new Expiries(
      clock,
      ({ key }) => {
        expired.push(key);
        return Promise.resolve();
      },
      [],
    );
    expiries.note('Thing', 'a', clock.now() + 2 * hourMs);
    expiries.note('Thing', 'b', clock.now() + 5 * hourMs);
    await clock.fake.advance(60_000);
    clock.offsetMs = 3 * hourMs;
    await clock.fake.advance(10_000);
    expect(expired).to.deep.equal(['a']);
    expiries.close();
    expect(clock.fake.pending).to.equal(0);
  });

  it('wait for the wall clock when it jumps back, and are on time afterwards', async () => {
    const clock = new JumpingClock();
    const expired: string[] = [];
    const expire = ({ key }: Expiry): Promise<void> => {
      expired.push(key);
      return Promise.resolve();
    };
    const expiries = new Expiries(clock, expire, []);
    expiries.note('Thing', 'a', clock.now() + hourMs);
    clock.offsetMs = -hourMs;
    await clock.fake.advance(2 * hourMs - 1);
    expect(expired).to.deep.equal([]);
    await clock.fake.advance(1);
    expect(expired).to.deep.equal(['a']);
    expiries.close();
  });

  it('at invalid or very distant times neither fire nor spin', async () => {
    const clock = new FakeClock();
    let calls = 0;
    const expire = (): Promise<void> => Promise.resolve(void (calls += 1));
    const far = [NaN, Infinity, Number.MAX_SAFE_INTEGER, 8.64e15, 2 ** 31 + clock.now()];
    const start = far.map((at, n) => ({ kind: 'Thing', key: `s${n}`, at }));
    const expiries = new Expiries(clock, expire, start);
    far.forEach((at, n) => expiries.note('Thing', `n${n}`, at));
    let timers = 0;
    const setTimer = clock.setTimer.bind(clock);
    clock.setTimer = (callback, delayMs) => {
      timers += 1;
      return setTimer(callback, delayMs);
    };
    await clock.advance(hourMs);
    expect(calls).to.equal(0);
    expect(timers).to.be.at.most(hourMs / 10_000 + 1);
    expiries.close();
  });

  it('of an object that got a new time while a deletion failed keep the new time', async () => {
    const clock = new FakeClock();
    const tried: number[] = [];
    let fail: (error: Error) => void = () => undefined;
    const expire = ({ at }: Expiry): Promise<void> => {
      tried.push(at);
      return new Promise((_, reject) => (fail = reject));
    };
    const expiries = new Expiries(clock, expire, []);
    const first = clock.now() + 1_000;
    expiries.note('Thing', 'a', first);
    await clock.advance(1_000);
    expiries.note('Thing', 'a', first + 60_000);
    fail(new Error('EIO'));
    await clock.advance(59_000);
    expect(tried).to.deep.equal([first]);
    await clock.advance(1_000);
    expect(tried).to.deep.equal([first, first + 60_000]);
    expiries.close();
  });

  /** An engine whose appends wait until they are released. */
  function held(inner: MemoryEngine): Engine & { release: () => void; hold: boolean } {
    let waiting: (() => void)[] = [];
    const engine = Object.assign(Object.create(inner) as MemoryEngine, {
      hold: false,
      release() {
        engine.hold = false;
        for (const go of waiting) go();
        waiting = [];
      },
      open: inner.open.bind(inner),
      scan: inner.scan.bind(inner),
      get: inner.get.bind(inner),
      saveCheckpoint: inner.saveCheckpoint.bind(inner),
      replace: inner.replace.bind(inner),
      async append(records: readonly EngineRecord[]): Promise<void> {
        if (engine.hold) await new Promise<void>((resolve) => waiting.push(resolve));
        await inner.append(records);
      },
      close: () => inner.close(),
    });
    return engine;
  }

  it('that are refused during an overload are retried afterwards', async function () {
    this.timeout(180_000);
    const engine = held(new MemoryEngine());
    const clock = new FakeClock();
    const store = await openStore({ engine, clock });
    const expiresAt = new Date(clock.now() + 5_000).toISOString();
    await store.create(things, { name: 'short-lived', metadata: { expiresAt } });
    engine.hold = true;
    const text = 'x'.repeat(1_400_000);
    const writes: Promise<unknown>[] = [];
    let refusal: unknown;
    // The queue is limited to 256 MiB.
    for (let n = 0; n < 250 && refusal === undefined; n += 1) {
      const annotations = { text };
      const write = store.create(things, { name: `big${n}`, metadata: { annotations } });
      writes.push(write.catch((error: unknown) => (refusal ??= error)));
      await Promise.resolve();
      await Promise.resolve();
    }
    await settle();
    expect(refusal).to.be.instanceOf(StatusError);
    expect((refusal as StatusError).reason).to.equal('WriteQueueFull');
    await clock.advance(6_000);
    expect(await store.get(things, { name: 'short-lived' })).to.not.equal(undefined);
    engine.release();
    await Promise.all(writes);
    await clock.advance(2_000);
    expect(await store.get(things, { name: 'short-lived' })).to.equal(undefined);
    await store.close();
    expect(clock.pending).to.equal(0);
  });

  it('that conflict with a write that fails later are retried', async () => {
    const inner = new MemoryEngine();
    const engine = held(inner);
    const clock = new FakeClock();
    const store = await openStore({ engine, clock });
    const expiresAt = new Date(clock.now() + 5_000).toISOString();
    const made = await store.create(things, { name: 'a', metadata: { expiresAt } });
    const append = engine.append.bind(engine);
    let fail: (error: Error) => void = () => undefined;
    engine.append = () => new Promise((_, reject) => (fail = reject));
    // The write is pending at the expiry, and fails.
    const { expiresAt: _, ...metadata } = made.metadata;
    const later = new Date(clock.now() + hourMs).toISOString();
    const update = store
      .transact([
        {
          op: 'overwrite',
          kind: things,
          object: { ...made, metadata: { ...metadata, expiresAt: later } },
        },
      ])
      .catch((error: unknown) => error);
    await clock.advance(5_000);
    engine.append = append;
    fail(new Error('EIO'));
    expect(await update).to.be.instanceOf(StatusError);
    await clock.advance(60_000);
    expect(store.health().state).to.equal('serving');
    expect(await store.get(things, { name: 'a' })).to.equal(undefined);
    await store.close();
  });

  it('do not delete an object whose extension is pending at the earlier time', async () => {
    const engine = held(new MemoryEngine());
    const clock = new FakeClock();
    const store = await openStore({ engine, clock });
    const at = (ms: number): string => new Date(clock.now() + ms).toISOString();
    const made = await store.create(things, { name: 'a', metadata: { expiresAt: at(5_000) } });
    engine.hold = true;
    const metadata = { ...made.metadata, expiresAt: at(hourMs) };
    const update = store.update(things, { ...made, metadata });
    await clock.advance(6_000);
    engine.release();
    await update;
    await clock.advance(60_000);
    expect(await store.get(things, { name: 'a' })).to.not.equal(undefined);
    await clock.advance(hourMs);
    expect(await store.get(things, { name: 'a' })).to.equal(undefined);
    await store.close();
  });
});
