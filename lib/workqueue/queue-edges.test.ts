import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { expect } from 'chai';
import fc from 'fast-check';
import { backoffDelayMs, seededRandom, StatusError, type Timer } from '../base/index.js';
import { FakeClock, RecordingMetrics } from '../testing/index.js';
import { ItemBackoff, RateLimitingQueue, TokenBucket, WorkQueue } from './index.js';

setFlagsFromString('--expose-gc');
const gc = runInNewContext('gc') as () => void;

function heapUsed(): number {
  gc();
  return process.memoryUsage().heapUsed;
}

/** Like Node.js: a timer above 2^31-1 ms fires after 1 ms. */
class NodeLikeClock extends FakeClock {
  override setTimer(callback: () => void, delayMs: number): Timer {
    return super.setTimer(callback, delayMs > 2 ** 31 - 1 ? 1 : delayMs);
  }
}

describe('work queue in edge cases', () => {
  for (const fair of [false, true])
    it(`raised priorities leak no memory in an empty queue ${fair ? 'with' : 'without'} groups`, () => {
      const count = 100_000;
      const keys = Array.from({ length: count }, (_, n) => `group-${n % 1_000}/${n}`);
      const queue = new WorkQueue<string>(
        fair ? { groupOf: (key) => key.split('/')[0] ?? '' } : {},
      );
      const before = heapUsed();
      for (const key of keys) queue.add(key);
      for (const key of keys) queue.add(key, 5);
      for (let key = queue.tryGet(); key !== undefined; key = queue.tryGet()) queue.done(key);
      expect(queue.len).to.equal(0);
      const left = heapUsed() - before;
      expect(left, 'bytes left').to.be.lessThan(1_000_000);
      expect(keys.length, 'still in use').to.equal(count);
    });

  it('repeatedly raised keys need memory proportional to their number', () => {
    const queue = new WorkQueue<string>();
    // One key always waits, so that the lane is never empty.
    queue.add('waits', -5);
    const before = heapUsed();
    for (let n = 0; n < 100_000; n += 1) {
      queue.add('raised', -5);
      queue.add('raised', 0);
      const key = queue.tryGet();
      if (key === 'waits') queue.add('waits', -5);
      queue.done(key ?? '');
    }
    expect(heapUsed() - before, 'bytes left').to.be.lessThan(500_000);
  });

  it('a groupOf that throws, or returns no string, loses no key and is reported', () => {
    const faults: string[] = [];
    const queue = new WorkQueue<string>({
      groupOf: (key) => {
        if (key === 'bad') throw new Error('no group');
        return (key === 'odd' ? undefined : key) as string;
      },
      onGroupFault: (error, key) => faults.push(`${key}: ${String(error)}`),
    });
    for (const key of ['bad', 'odd', 'good']) queue.add(key);
    queue.add('bad', 5);
    const taken = [queue.tryGet(), queue.tryGet(), queue.tryGet(), queue.tryGet()];
    expect(taken).to.have.members(['bad', 'odd', 'good', undefined]);
    expect(faults[0]).to.equal('bad: Error: no group');
    expect(faults[1]).to.contain('odd: TypeError: groupOf returned undefined');
  });

  it('an unstable groupOf hands no key to two workers', () => {
    let calls = 0;
    const queue = new WorkQueue<string>({ groupOf: () => `group ${(calls += 1)}` });
    for (const key of ['a', 'b']) queue.add(key);
    for (const key of ['a', 'b']) queue.add(key, 5);
    expect(queue.len).to.equal(2);
    expect([queue.tryGet(), queue.tryGet(), queue.tryGet()]).to.deep.equal(['a', 'b', undefined]);
  });

  it('refuses an invalid share, bucket and backoff, and names the value', () => {
    for (const lowerShare of [0, 1, 2.5, Number.NaN])
      expect(() => new WorkQueue({ lowerShare })).to.throw(RangeError, String(lowerShare));
    const clock = new FakeClock();
    expect(() => new TokenBucket(clock, { perSecond: 0, burst: 1 })).to.throw(
      RangeError,
      'perSecond',
    );
    expect(() => new TokenBucket(clock, { perSecond: 1, burst: Number.NaN })).to.throw(
      RangeError,
      'burst',
    );
    const random = seededRandom(1);
    for (const wrong of [{ baseMs: Number.NaN }, { maxMs: -1 }, { jitter: 2 }])
      expect(() => new ItemBackoff(random, { baseMs: 1, maxMs: 1, ...wrong })).to.throw(
        RangeError,
        Object.keys(wrong)[0],
      );
  });

  it('jitter never exceeds the cap, and spreads delays below it', () => {
    const options = fc.record({
      baseMs: fc.integer({ min: 0, max: 10_000 }),
      maxMs: fc.integer({ min: 0, max: 100_000 }),
      jitter: fc.double({ min: 0, max: 1, noNaN: true }),
    });
    fc.assert(
      fc.property(options, fc.nat(2_000), fc.nat(), (backoff, failures, seed) => {
        const delayMs = backoffDelayMs(backoff, failures, seededRandom(seed));
        expect(delayMs).to.be.within(0, backoff.maxMs);
      }),
    );
    const random = seededRandom(1);
    const atCap = Array.from({ length: 100 }, () =>
      Math.round(backoffDelayMs({ baseMs: 1, maxMs: 1_000, jitter: 0.5 }, 50, random)),
    );
    expect(new Set(atCap).size).to.be.greaterThan(50);
  });

  it('a delay that an error requests is obeyed if it is valid', () => {
    const limiter = new ItemBackoff<string>(seededRandom(1), { baseMs: 1, maxMs: 1, jitter: 0 });
    const asks = (retryAfterMs: number): number =>
      limiter.when(
        'a',
        new StatusError({ code: 'Unavailable', reason: 'X', message: '', retryAfterMs }),
      );
    expect([asks(5_000), asks(Number.NaN), asks(Infinity), asks(-5)]).to.deep.equal([
      5_000, 1, 1, 1,
    ]);
  });
});

describe('rate limited queue in edge cases', () => {
  const make = (clock = new FakeClock(), metrics?: RecordingMetrics) => {
    const limiter = new ItemBackoff<string>(seededRandom(1), {
      baseMs: 100,
      maxMs: 1_000,
      jitter: 0,
    });
    const queue = new RateLimitingQueue<string>({
      clock,
      limiter,
      name: 'q',
      ...(metrics ? { metrics } : {}),
    });
    return { clock, queue };
  };
  const name = { name: 'q' };

  it('a delay for a key that is dirty or delayed already causes one run', async () => {
    const { clock, queue } = make();
    queue.add('a');
    expect(queue.tryGet()).to.equal('a');
    queue.add('a');
    queue.addAfter('a', 500, 7);
    queue.done('a');
    expect(queue.priority('a'), 'the higher priority').to.equal(7);
    queue.addAfter('a', 200);
    expect(queue.tryGet()).to.equal('a');
    queue.done('a');
    await clock.advance(1_000);
    expect(queue.len).to.equal(0);
    expect(clock.pending).to.equal(0);
  });

  it('a delay that is requested while the key is processed is kept', async () => {
    const { clock, queue } = make();
    queue.add('a');
    queue.tryGet();
    queue.addAfter('a', 500);
    queue.done('a');
    await clock.advance(499);
    expect(queue.len).to.equal(0);
    await clock.advance(1);
    expect(queue.len).to.equal(1);
  });

  it('supports delays beyond the timers of Node.js', async () => {
    const { clock, queue } = make(new NodeLikeClock());
    const monthMs = 30 * 86_400_000;
    queue.addAfter('a', monthMs);
    await clock.advance(monthMs - 1);
    expect(queue.len).to.equal(0);
    await clock.advance(1);
    expect(queue.len).to.equal(1);
  });

  it('refuses invalid delays and priorities at the call, not when the delay ends', () => {
    const { clock, queue } = make();
    for (const delayMs of [Number.NaN, Infinity, -Infinity])
      expect(() => queue.addAfter('a', delayMs)).to.throw(RangeError, String(delayMs));
    for (const priority of [0.5, 5_000, Number.NaN])
      expect(() => queue.addAfter('a', 100, priority)).to.throw(RangeError, String(priority));
    expect([queue.len, queue.delayed, clock.pending]).to.deep.equal([0, 0, 0]);
  });

  it('counts no add after the shutdown', () => {
    const metrics = new RecordingMetrics();
    const { queue } = make(new FakeClock(), metrics);
    queue.add('a');
    queue.shutDown();
    queue.add('b');
    queue.addAfter('c', 0);
    expect(metrics.value('workqueue_adds_total', name)).to.equal(1);
    expect(metrics.value('workqueue_depth', name)).to.equal(0);
  });

  it('the depth is 0 after a drain that timed out', async () => {
    const metrics = new RecordingMetrics();
    const { queue } = make(new FakeClock(), metrics);
    for (const key of ['a', 'b', 'c']) queue.add(key);
    queue.tryGet();
    const report = await queue.shutDownWithDrain(Promise.resolve());
    expect(report.left).to.deep.equal(['a', 'b', 'c']);
    expect(metrics.value('workqueue_depth', name)).to.equal(0);
  });

  it('measures no work on a key that was never handed out', () => {
    const metrics = new RecordingMetrics();
    const { queue } = make(new FakeClock(), metrics);
    queue.add('a');
    queue.done('a');
    queue.done('never');
    expect(metrics.value('workqueue_work_duration_seconds', name)).to.equal(0);
    queue.tryGet();
    queue.done('a');
    expect(metrics.value('workqueue_work_duration_seconds', name)).to.equal(1);
  });
});
