import { expect } from 'chai';
import fc from 'fast-check';
import { WorkQueue } from './index.js';

const groupOf = (key: string): string => key.slice(0, 1);
const limited = (groupConcurrency: number) => new WorkQueue<string>({ groupOf, groupConcurrency });

/** The keys that a queue hands out now, in order. */
function handedOut(queue: WorkQueue<string>): string[] {
  const keys: string[] = [];
  for (let key = queue.tryGet(); key !== undefined; key = queue.tryGet()) keys.push(key);
  return keys;
}

describe('a work queue with a maximum for each group', () => {
  it('hands out the keys of other groups while one is full, and the rest after done', () => {
    const queue = limited(2);
    for (const key of ['a1', 'a2', 'a3', 'a4', 'b1']) queue.add(key);
    expect(handedOut(queue)).to.deep.equal(['a1', 'b1', 'a2']);
    expect(queue.len).to.equal(2);
    queue.done('b1');
    expect(handedOut(queue)).to.deep.equal([]);
    queue.done('a2');
    expect(handedOut(queue)).to.deep.equal(['a3']);
  });

  it('hands out keys of lower priority while all groups of the higher one are full', () => {
    const queue = limited(1);
    for (const key of ['a1', 'a2']) queue.add(key, 5);
    queue.add('b1', -5);
    expect(handedOut(queue)).to.deep.equal(['a1', 'b1']);
  });

  it('hands out queued keys by their new groups after regroup', async () => {
    let isKnown = false;
    const queue = new WorkQueue<string>({
      groupOf: (key) => (isKnown ? groupOf(key) : ''),
      groupConcurrency: 1,
    });
    for (const key of ['a1', 'b1', 'a2', 'b2', 'a3']) queue.add(key);
    queue.add('a2', 1);
    expect(queue.tryGet()).to.equal('a2');
    const call = queue.get();
    isKnown = true;
    queue.regroup();
    expect(await call).to.include({ key: 'a1' });
    expect(handedOut(queue)).to.deep.equal(['b1']);
    queue.done('a1');
    expect(handedOut(queue)).to.deep.equal(['a3']);
    for (const key of ['a2', 'b1', 'a3']) queue.done(key);
    expect(handedOut(queue)).to.deep.equal(['b2']);
  });

  it('serves waiting calls when a group is below its maximum again, its oldest key first', async () => {
    const queue = limited(1);
    const calls = [queue.get(), queue.get()];
    for (const key of ['a1', 'a2', 'a1']) queue.add(key);
    expect(await calls[0]).to.include({ key: 'a1' });
    // It was added again while it was processed, so it follows the key that waited.
    queue.done('a1');
    expect(await calls[1]).to.include({ key: 'a2' });
    queue.done('a2');
    expect(queue.tryGet()).to.equal('a1');
  });

  it('drains the keys of a full group, too', async () => {
    const queue = limited(1);
    const worked: string[] = [];
    const work = async (): Promise<void> => {
      for (;;) {
        const next = await queue.get();
        if (next.shutDown) return;
        worked.push(next.key);
        await Promise.resolve();
        queue.done(next.key);
      }
    };
    const workers = [work(), work()];
    for (const key of ['a1', 'a2', 'a3', 'a4']) queue.add(key);
    const report = await queue.shutDownWithDrain(new Promise(() => undefined));
    await Promise.all(workers);
    expect(report.drained).to.equal(true);
    expect(worked).to.deep.equal(['a1', 'a2', 'a3', 'a4']);
  });

  it('never exceeds it, and hands out every key that its group has room for, in any order of calls', () => {
    const step = fc.record({
      what: fc.constantFrom('add', 'add', 'take', 'done'),
      key: fc.constantFrom('a1', 'a2', 'a3', 'b1', 'b2', 'b3', 'c1'),
      priority: fc.constantFrom(-1, 0, 0, 1),
    });
    fc.assert(
      fc.property(
        fc.array(step, { maxLength: 200 }),
        fc.integer({ min: 1, max: 3 }),
        (steps, max) => {
          const queue = limited(max);
          const waiting = new Set<string>();
          const held = new Map<string, boolean>();
          const inGroup = (group: string): number =>
            [...held.keys()].filter((key) => groupOf(key) === group).length;
          for (const { what, key, priority } of steps) {
            if (what === 'add') {
              queue.add(key, priority);
              if (held.has(key)) held.set(key, true);
              else waiting.add(key);
            } else if (what === 'done') {
              if (held.get(key) === true) waiting.add(key);
              held.delete(key);
              queue.done(key);
            } else {
              const taken = queue.tryGet();
              if (taken === undefined) {
                for (const left of waiting) expect(inGroup(groupOf(left))).to.equal(max);
                continue;
              }
              expect(waiting.delete(taken)).to.equal(true);
              held.set(taken, false);
              expect(inGroup(groupOf(taken))).to.be.at.most(max);
            }
            expect(queue.len).to.equal(waiting.size);
          }
        },
      ),
      { numRuns: 500 },
    );
  });

  it('refuses a maximum that is not a whole number, 1 or more', () => {
    for (const max of [0, -1, 1.5, Number.NaN])
      expect(() => limited(max)).to.throw(RangeError, 'groupConcurrency');
  });
});
