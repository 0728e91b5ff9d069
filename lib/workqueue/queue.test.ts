import { expect } from 'chai';
import fc from 'fast-check';
import { seededRandom } from '../base/index.js';
import { FakeClock } from '../testing/index.js';
import { ItemBackoff, RateLimitingQueue, slowestOf, TokenBucket, WorkQueue } from './index.js';

async function keyOf(queue: { get(): Promise<unknown> }): Promise<unknown> {
  const handout = (await queue.get()) as { shutDown: boolean; key?: string };
  return handout.shutDown ? 'shutDown' : handout.key;
}

describe('work queue', () => {
  it('hands out keys in the order they were added, each once', async () => {
    const queue = new WorkQueue<string>();
    for (const key of ['a', 'b', 'a', 'c', 'b']) queue.add(key);
    expect(queue.len).to.equal(3);
    expect([await keyOf(queue), await keyOf(queue), await keyOf(queue)]).to.deep.equal([
      'a',
      'b',
      'c',
    ]);
  });

  it('hands out a key that is added while it is processed once more, at the tail', async () => {
    const queue = new WorkQueue<string>();
    queue.add('a');
    await queue.get();
    queue.add('a');
    queue.add('a');
    queue.add('b');
    expect(queue.len).to.equal(1);
    queue.done('a');
    expect([await keyOf(queue), await keyOf(queue)]).to.deep.equal(['b', 'a']);
  });

  it('wakes a waiting worker', async () => {
    const queue = new WorkQueue<string>();
    const waiting = keyOf(queue);
    queue.add('a');
    expect(await waiting).to.equal('a');
  });

  it('ignores done for a key that was not handed out (client-go queues it twice)', () => {
    const queue = new WorkQueue<string>();
    queue.add('a');
    queue.done('a');
    queue.done('never');
    expect(queue.len).to.equal(1);
  });

  it('drain hands out everything queued before it resolves (client-go returns early)', async () => {
    const queue = new WorkQueue<string>();
    queue.add('a');
    queue.add('b');
    await queue.get();
    let drained = false;
    const drain = queue.shutDownWithDrain(new Promise(() => undefined)).then((report) => {
      drained = true;
      return report;
    });
    queue.done('a');
    await Promise.resolve();
    expect(drained).to.equal(false);
    expect(await keyOf(queue)).to.equal('b');
    queue.done('b');
    expect(await drain).to.deep.equal({ drained: true, left: [] });
    expect(await keyOf(queue)).to.equal('shutDown');
  });

  it('drain ends at its deadline and reports the remaining keys', async () => {
    const queue = new WorkQueue<string>();
    queue.add('a');
    queue.add('b');
    await queue.get();
    const report = await queue.shutDownWithDrain(Promise.resolve());
    expect(report).to.deep.equal({ drained: false, left: ['a', 'b'] });
  });

  it('shutting down twice is harmless and ends waiting calls', async () => {
    const queue = new WorkQueue<string>();
    const waiting = keyOf(queue);
    queue.shutDown();
    queue.shutDown();
    expect(await waiting).to.equal('shutDown');
    queue.add('a');
    expect(queue.len).to.equal(0);
  });

  it('never has one key with two workers and loses none, under any interleaving', async () => {
    const step = fc.constantFrom('add', 'take', 'done');
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.tuple(step, fc.constantFrom('a', 'b', 'c')), { maxLength: 60 }),
        async (steps) => {
          const queue = new WorkQueue<string>();
          const held = new Set<string>();
          const dirty = new Set<string>();
          for (const [what, key] of steps) {
            if (what === 'add') {
              queue.add(key);
              dirty.add(key);
            } else if (what === 'take' && queue.len > 0) {
              const taken = String(await keyOf(queue));
              expect(held.has(taken)).to.equal(false);
              held.add(taken);
              dirty.delete(taken);
            } else if (what === 'done') {
              queue.done(key);
              held.delete(key);
            }
          }
          for (const key of [...held]) queue.done(key);
          const left: string[] = [];
          while (queue.len > 0) left.push(String(await keyOf(queue)));
          expect(left.sort()).to.deep.equal([...dirty].sort());
        },
      ),
    );
  });
});

describe('work queue with priorities', () => {
  const drainAll = (queue: WorkQueue<string>): string[] => {
    const out: string[] = [];
    for (let key = queue.tryGet(); key !== undefined; key = queue.tryGet()) {
      out.push(key);
      queue.done(key);
    }
    return out;
  };

  it('hands out the highest first, and the oldest first within a priority', () => {
    const queue = new WorkQueue<string>();
    queue.add('low', -100);
    queue.add('a');
    queue.add('high', 10);
    queue.add('b');
    expect(drainAll(queue)).to.deep.equal(['high', 'a', 'b', 'low']);
  });

  it('moves a raised key to the tail of its new priority, and hands it out once', () => {
    const queue = new WorkQueue<string>();
    for (const key of ['x', 'y', 'z']) queue.add(key, -100);
    queue.add('a');
    queue.add('y');
    queue.add('y', -5);
    expect(queue.len).to.equal(4);
    expect(drainAll(queue)).to.deep.equal(['a', 'y', 'x', 'z']);
  });

  it('serves lower ones by their share during endless higher ones', () => {
    const queue = new WorkQueue<string>({ lowerShare: 8 });
    for (let n = 0; n < 20; n += 1) queue.add(`initial${n}`, -100);
    const order: string[] = [];
    for (let n = 0; n < 200; n += 1) {
      queue.add(`live${n}`);
      const key = queue.tryGet()!;
      queue.done(key);
      order.push(key);
    }
    expect(order.filter((key) => key.startsWith('initial'))).to.have.length(20);
    expect(order.slice(0, 8).filter((key) => key.startsWith('initial'))).to.have.length(1);
  });

  it('serves groups round-robin: a flooding group delays each other one by one key', () => {
    const queue = new WorkQueue<string>({ groupOf: (key) => key.split('/')[0] ?? '' });
    for (let n = 0; n < 1_000; n += 1) queue.add(`noisy/${n}`);
    queue.add('quiet/1');
    queue.add('calm/1');
    queue.add('quiet/2');
    expect(drainAll(queue).slice(0, 5)).to.deep.equal([
      'noisy/0',
      'quiet/1',
      'calm/1',
      'noisy/1',
      'quiet/2',
    ]);
  });

  it('refuses a priority out of range', () => {
    const queue = new WorkQueue<string>();
    expect(() => queue.add('a', 5_000)).to.throw(RangeError, '1000');
    expect(() => queue.add('a', 0.5)).to.throw(RangeError);
  });

  it('never has one key with two workers, loses none and starves none, with priorities and groups', () => {
    const key = fc.constantFrom('a/1', 'a/2', 'b/1', 'b/2', 'c/1');
    const step = fc.record({
      what: fc.constantFrom('add', 'add', 'take', 'done'),
      key,
      priority: fc.constantFrom(-100, 0, 0, 7),
    });
    fc.assert(
      fc.property(fc.array(step, { maxLength: 200 }), fc.boolean(), (steps, fair) => {
        const queue = new WorkQueue<string>(
          fair ? { groupOf: (k) => k.slice(0, 1), lowerShare: 3 } : { lowerShare: 3 },
        );
        const held = new Set<string>();
        const dirty = new Map<string, number>();
        for (const { what, key: k, priority } of steps) {
          if (what === 'add') {
            queue.add(k, priority);
            if (!dirty.has(k)) dirty.set(k, 0);
          } else if (what === 'take') {
            const ready = [...dirty.keys()].filter((d) => !held.has(d));
            expect(queue.len).to.equal(ready.length);
            const taken = queue.tryGet();
            expect(taken === undefined).to.equal(ready.length === 0);
            if (taken === undefined) continue;
            expect(held.has(taken)).to.equal(false);
            expect(ready).to.include(taken);
            held.add(taken);
            dirty.delete(taken);
            for (const d of ready) if (dirty.has(d)) dirty.set(d, dirty.get(d)! + 1);
            // Five keys, three priorities, every third from a lower one: no key waits longer.
            expect(Math.max(0, ...dirty.values())).to.be.lessThan(60);
          } else {
            queue.done(k);
            held.delete(k);
          }
        }
        for (const k of [...held]) queue.done(k);
        expect(drainAll(queue).sort()).to.deep.equal([...dirty.keys()].sort());
      }),
      { numRuns: 400 },
    );
  });
});

describe('rate limiters', () => {
  it('a token bucket allows a burst, then a rate per second', async () => {
    const clock = new FakeClock();
    const bucket = new TokenBucket<string>(clock, { perSecond: 10, burst: 3 });
    const take = () => Array.from({ length: 5 }, () => bucket.when());
    expect(take()).to.deep.equal([0, 0, 0, 100, 200]);
    await clock.advance(1_000);
    expect(take().slice(0, 3)).to.deep.equal([0, 0, 0]);
  });

  it('the longest delay of several applies', () => {
    const clock = new FakeClock();
    const backoff = new ItemBackoff<string>(seededRandom(1), { baseMs: 50, maxMs: 1e6, jitter: 0 });
    const both = slowestOf(backoff, new TokenBucket<string>(clock, { perSecond: 1, burst: 1 }));
    expect(both.when('a')).to.equal(50);
    expect(both.when('b')).to.equal(1_000);
    both.forget('a');
    expect(backoff.size).to.equal(1);
  });
});

describe('rate limited queue', () => {
  const make = () => {
    const clock = new FakeClock();
    const limiter = new ItemBackoff<string>(seededRandom(1), {
      baseMs: 100,
      maxMs: 1_000,
      jitter: 0,
    });
    return { clock, queue: new RateLimitingQueue<string>({ clock, limiter }) };
  };

  it('adds after the delay, at the earliest requested time', async () => {
    const { clock, queue } = make();
    queue.addAfter('a', 500);
    queue.addAfter('a', 200);
    queue.addAfter('a', 900);
    await clock.advance(199);
    expect(queue.len).to.equal(0);
    await clock.advance(1);
    expect(queue.len).to.equal(1);
    await clock.advance(5_000);
    expect(queue.len).to.equal(1);
  });

  it('a direct add cancels a delayed one: one run', async () => {
    const { clock, queue } = make();
    queue.addAfter('a', 500);
    queue.add('a');
    await queue.get();
    queue.done('a');
    await clock.advance(1_000);
    expect(queue.len).to.equal(0);
    expect(clock.pending).to.equal(0);
  });

  it('backs off per key up to the cap, and starts over after forget', () => {
    const { queue } = make();
    const delays = Array.from({ length: 6 }, () => queue.addRateLimited('a'));
    expect(delays).to.deep.equal([100, 200, 400, 800, 1_000, 1_000]);
    expect(queue.addRateLimited('b')).to.equal(100);
    queue.forget('a');
    expect(queue.addRateLimited('a')).to.equal(100);
  });

  it('reports delayed keys that a drain drops', async () => {
    const { queue } = make();
    queue.addAfter('a', 500);
    const report = await queue.shutDownWithDrain(Promise.resolve());
    expect(report.left).to.deep.equal(['a']);
  });
});
