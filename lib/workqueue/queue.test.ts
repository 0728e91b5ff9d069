import { expect } from 'chai';
import fc from 'fast-check';
import { seededRandom } from '../base/index.js';
import { FakeClock } from '../testing/index.js';
import { ItemBackoff, RateLimitingQueue, WorkQueue } from './index.js';

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

  it('gives a key added while it is processed once more, at the tail', async () => {
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

  it('wakes a worker that waits', async () => {
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

  it('drain gives up at its deadline and reports what is left', async () => {
    const queue = new WorkQueue<string>();
    queue.add('a');
    queue.add('b');
    await queue.get();
    const report = await queue.shutDownWithDrain(Promise.resolve());
    expect(report).to.deep.equal({ drained: false, left: ['a', 'b'] });
  });

  it('shutting down twice is harmless and frees who waits', async () => {
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

describe('rate limited queue', () => {
  const make = () => {
    const clock = new FakeClock();
    const limiter = new ItemBackoff<string>(seededRandom(1), {
      baseMs: 100,
      maxMs: 1_000,
      jitter: 0,
    });
    return { clock, queue: new RateLimitingQueue(clock, limiter) };
  };

  it('adds after the delay, at the earliest time asked for', async () => {
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

  it('backs off per key up to the cap, and starts over when forgotten', () => {
    const { queue } = make();
    const delays = Array.from({ length: 6 }, () => queue.addRateLimited('a'));
    expect(delays).to.deep.equal([100, 200, 400, 800, 1_000, 1_000]);
    expect(queue.addRateLimited('b')).to.equal(100);
    queue.forget('a');
    expect(queue.addRateLimited('a')).to.equal(100);
  });

  it('reports delayed keys that a drain leaves behind', async () => {
    const { queue } = make();
    queue.addAfter('a', 500);
    const report = await queue.shutDownWithDrain(Promise.resolve());
    expect(report.left).to.deep.equal(['a']);
  });
});
