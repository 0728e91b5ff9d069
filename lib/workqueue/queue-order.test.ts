import { expect } from 'chai';
import fc from 'fast-check';
import { WorkQueue } from './index.js';

const lowerShare = 3;
const groupOf = (key: string): string => key.slice(0, 1);

interface Waiting {
  readonly key: string;
  readonly priority: number;
  /** Position in the order of additions. */
  readonly since: number;
}

/**
 * A reference model of the queue's order. It fails if a key is handed out out of order: by priority with the share of
 * lower ones, in turns of the groups, oldest first.
 */
class PromisedOrder {
  readonly #fair: boolean;
  #waiting: Waiting[] = [];
  readonly #held = new Map<string, number | undefined>();
  #steps = 0;
  #handouts = 0;
  /** Handouts to others since the group started to wait, by priority and group. */
  readonly #passedOver = new Map<string, Map<string, number>>();

  constructor(fair: boolean) {
    this.#fair = fair;
  }

  get length(): number {
    return this.#waiting.length;
  }

  add(key: string, priority: number): void {
    if (this.#held.has(key)) {
      const asked = this.#held.get(key);
      this.#held.set(key, Math.max(asked ?? -Infinity, priority));
      return;
    }
    const known = this.#waiting.find((entry) => entry.key === key);
    if (known && known.priority >= priority) return;
    this.#waiting = this.#waiting.filter((entry) => entry.key !== key);
    this.#waiting.push({ key, priority, since: (this.#steps += 1) });
  }

  done(key: string): void {
    if (!this.#held.has(key)) return;
    const priority = this.#held.get(key);
    this.#held.delete(key);
    if (priority !== undefined) this.add(key, priority);
  }

  /** Throws if `key` is out of order. */
  handOut(key: string): void {
    const taken = this.#waiting.find((entry) => entry.key === key);
    if (!taken) throw new Error(`${key} does not wait`);
    this.#checkPriority(taken);
    const rivals = this.#waiting.filter((entry) => entry.priority === taken.priority);
    const inGroup = rivals.filter((entry) => !this.#fair || groupOf(entry.key) === groupOf(key));
    const oldest = inGroup.reduce((a, b) => (a.since < b.since ? a : b));
    expect(key, 'oldest first').to.equal(oldest.key);
    if (this.#fair) this.#checkTurns(taken, rivals);
    this.#waiting = this.#waiting.filter((entry) => entry !== taken);
    this.#held.set(key, undefined);
  }

  #checkPriority(taken: Waiting): void {
    this.#handouts += 1;
    const highest = Math.max(...this.#waiting.map((entry) => entry.priority));
    if (taken.priority === highest) return;
    expect(this.#handouts % lowerShare, 'a lower one only in its turn').to.equal(0);
  }

  #checkTurns(taken: Waiting, rivals: readonly Waiting[]): void {
    const lane = String(taken.priority);
    const counts = this.#passedOver.get(lane) ?? new Map<string, number>();
    this.#passedOver.set(lane, counts);
    const waiting = new Set(rivals.map((entry) => groupOf(entry.key)));
    for (const group of counts.keys()) if (!waiting.has(group)) counts.delete(group);
    counts.delete(groupOf(taken.key));
    for (const group of waiting) {
      if (group === groupOf(taken.key)) continue;
      const passed = (counts.get(group) ?? 0) + 1;
      // Three groups: between two turns of one, each other has at most one.
      expect(passed, `group ${group} was passed over`).to.be.at.most(2);
      counts.set(group, passed);
    }
  }
}

const step = fc.record({
  what: fc.constantFrom('add', 'add', 'add', 'take', 'take', 'done'),
  key: fc.constantFrom('a1', 'a2', 'a3', 'a4', 'b1', 'b2', 'b3', 'c1', 'c2'),
  priority: fc.constantFrom(-100, 0, 0, 7),
});

describe('order of the work queue, under random interleavings', () => {
  for (const fair of [false, true])
    it(`is as guaranteed ${fair ? 'with groups' : 'without groups'}: priority, the lower ones' share, oldest first`, () => {
      fc.assert(
        fc.property(fc.array(step, { maxLength: 300 }), (steps) => {
          const queue = new WorkQueue<string>(fair ? { groupOf, lowerShare } : { lowerShare });
          const promised = new PromisedOrder(fair);
          for (const { what, key, priority } of steps) {
            if (what === 'add') {
              queue.add(key, priority);
              promised.add(key, priority);
            } else if (what === 'done') {
              queue.done(key);
              promised.done(key);
            } else {
              const taken = queue.tryGet();
              if (taken === undefined) expect(promised.length).to.equal(0);
              else promised.handOut(taken);
            }
            expect(queue.len).to.equal(promised.length);
          }
        }),
        { numRuns: 1_000 },
      );
    });
});
