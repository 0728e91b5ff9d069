import { expect } from 'chai';
import fc from 'fast-check';
import { seededRandom } from '../base/index.js';
import { FakeClock, RecordingMetrics } from '../testing/index.js';
import { ItemBackoff, RateLimitingQueue } from './index.js';

type State = 'queued' | 'processing' | 'dirty';

/** The guarantees as plain tables. */
class Promised {
  readonly states = new Map<string, State>();
  readonly readyAt = new Map<string, number>();
  adds = 0;
  open = true;

  get queued(): readonly string[] {
    return [...this.states].filter(([, state]) => state === 'queued').map(([key]) => key);
  }

  add(key: string): void {
    if (!this.open) return;
    this.readyAt.delete(key);
    const state = this.states.get(key);
    if (state === undefined) this.states.set(key, 'queued');
    if (state === 'processing') this.states.set(key, 'dirty');
    if (state === undefined || state === 'processing') this.adds += 1;
  }

  addAfter(key: string, at: number): void {
    const state = this.states.get(key);
    if (!this.open || state === 'queued' || state === 'dirty') return;
    this.readyAt.set(key, Math.min(at, this.readyAt.get(key) ?? Infinity));
  }

  advance(now: number): void {
    for (const [key, at] of this.readyAt) if (at <= now) this.add(key);
  }

  take(key: string): void {
    expect(this.states.get(key), `${key} is handed out`).to.equal('queued');
    this.states.set(key, 'processing');
  }

  done(key: string): void {
    const state = this.states.get(key);
    if (state === 'processing') this.states.delete(key);
    if (state === 'dirty') this.states.set(key, 'queued');
  }

  shutDown(): void {
    this.open = false;
    this.readyAt.clear();
    for (const key of this.queued) this.states.delete(key);
    for (const [key, state] of this.states)
      if (state === 'dirty') this.states.set(key, 'processing');
  }
}

const key = fc.constantFrom('a/1', 'a/2', 'b/1', 'bad/1', 'bad/2', 'unsteady/1');
const priority = fc.constantFrom(-100, 0, 0, 0, 7);
const step = fc.oneof(
  { weight: 4, arbitrary: fc.record({ op: fc.constant('add' as const), key, priority }) },
  { weight: 4, arbitrary: fc.record({ op: fc.constant('take' as const) }) },
  { weight: 4, arbitrary: fc.record({ op: fc.constant('done' as const), key }) },
  {
    weight: 3,
    arbitrary: fc.record({
      op: fc.constant('addAfter' as const),
      key,
      priority,
      delayMs: fc.constantFrom(1, 5, 50),
    }),
  },
  { weight: 2, arbitrary: fc.record({ op: fc.constant('addRateLimited' as const), key }) },
  { weight: 2, arbitrary: fc.record({ op: fc.constant('advance' as const), byMs: fc.nat(60) }) },
);

describe('rate limited queue against a model', () => {
  for (const fair of [false, true])
    it(`hands out each key as guaranteed ${fair ? 'with groups that throw and change' : 'without groups'}, with delays, and ends`, async () => {
      await fc.assert(
        fc.asyncProperty(
          fc.array(step, { maxLength: 60 }),
          fc.constantFrom('none', 'shutDown', 'drain', 'expired'),
          async (steps, end) => {
            const clock = new FakeClock();
            const metrics = new RecordingMetrics();
            let calls = 0;
            const groupOf = (k: string): string => {
              if (k.startsWith('bad')) throw new Error('no group');
              return k.startsWith('unsteady') ? `group ${(calls += 1) % 3}` : k.slice(0, 1);
            };
            const queue = new RateLimitingQueue<string>({
              clock,
              metrics,
              limiter: new ItemBackoff(seededRandom(1), { baseMs: 10, maxMs: 40, jitter: 0 }),
              name: 'q',
              lowerShare: 3,
              ...(fair ? { groupOf } : {}),
            });
            const promised = new Promised();
            const check = (): void => {
              expect(queue.len).to.equal(promised.queued.length);
              expect(queue.delayed).to.equal(promised.readyAt.size);
              expect(metrics.value('workqueue_depth', { name: 'q' })).to.equal(queue.len);
              expect(metrics.value('workqueue_adds_total', { name: 'q' })).to.equal(promised.adds);
            };
            for (const at of steps) {
              switch (at.op) {
                case 'add':
                  queue.add(at.key, at.priority);
                  promised.add(at.key);
                  break;
                case 'addAfter':
                  queue.addAfter(at.key, at.delayMs, at.priority);
                  promised.addAfter(at.key, clock.monotonic() + at.delayMs);
                  break;
                case 'addRateLimited': {
                  const delayMs = queue.addRateLimited(at.key);
                  expect(delayMs).to.be.within(10, 40);
                  promised.addAfter(at.key, clock.monotonic() + delayMs);
                  break;
                }
                case 'take': {
                  const taken = queue.tryGet();
                  if (taken === undefined) expect(promised.queued).to.deep.equal([]);
                  else promised.take(taken);
                  break;
                }
                case 'done':
                  queue.done(at.key);
                  promised.done(at.key);
                  break;
                case 'advance':
                  await clock.advance(at.byMs);
                  promised.advance(clock.monotonic());
              }
              check();
            }
            const delayed = [...promised.readyAt.keys()];
            if (end === 'shutDown') {
              queue.shutDown();
              promised.shutDown();
            } else if (end === 'expired') {
              const left = [...promised.states.keys(), ...delayed];
              const report = await queue.shutDownWithDrain(Promise.resolve());
              if (promised.states.size > 0) expect(report.left).to.have.members(left);
              promised.shutDown();
            } else {
              // Every requested key is handed out.
              const draining =
                end === 'drain' ? queue.shutDownWithDrain(new Promise(() => undefined)) : undefined;
              if (draining) promised.readyAt.clear();
              if (draining) promised.open = false;
              for (const k of [...promised.states.keys()]) {
                queue.done(k);
                promised.done(k);
              }
              for (let k = queue.tryGet(); k !== undefined; k = queue.tryGet()) {
                promised.take(k);
                queue.done(k);
                promised.done(k);
              }
              expect([...promised.states]).to.deep.equal([]);
              if (draining) expect((await draining).left).to.deep.equal(delayed);
            }
            check();
            if (end !== 'none') {
              queue.add('late');
              queue.addAfter('late', 5);
              await clock.advance(10);
              check();
              expect((await queue.get()).shutDown).to.equal(true);
              expect(clock.pending, 'no timer is left').to.equal(0);
            }
          },
        ),
        { numRuns: 150 },
      );
    }).timeout(180_000);
});
