import type { Clock, Timer } from '../base/index.js';
import { type DrainReport, type Handout, WorkQueue } from './queue.js';
import type { RateLimiter } from './rate-limiter.js';

interface Delayed {
  readonly readyAt: number;
  readonly timer: Timer;
}

/**
 * A work queue that can add later and after failures.
 * One pending delay a key: the earliest time wins, and a direct add cancels it (one run, not two).
 */
export class RateLimitingQueue<K> {
  readonly #queue = new WorkQueue<K>();
  readonly #clock: Clock;
  readonly #limiter: RateLimiter<K>;
  readonly #delayed = new Map<K, Delayed>();

  constructor(clock: Clock, limiter: RateLimiter<K>) {
    this.#clock = clock;
    this.#limiter = limiter;
  }

  /** Keys ready to be handed out; delayed ones do not count. */
  get len(): number {
    return this.#queue.len;
  }

  /** Keys waiting for their time. */
  get delayed(): number {
    return this.#delayed.size;
  }

  add(key: K): void {
    this.#cancel(key);
    this.#queue.add(key);
  }

  /** Adds after `delayMs`; 0 or less is `add`. */
  addAfter(key: K, delayMs: number): void {
    if (this.#queue.shuttingDown) return;
    if (delayMs <= 0) {
      this.add(key);
      return;
    }
    const readyAt = this.#clock.monotonic() + delayMs;
    const before = this.#delayed.get(key);
    if (before && before.readyAt <= readyAt) return;
    before?.timer.cancel();
    const timer = this.#clock.setTimer(() => {
      this.#delayed.delete(key);
      this.#queue.add(key);
    }, delayMs);
    this.#delayed.set(key, { readyAt, timer });
  }

  /** Adds after the wait that the limiter gives for one more failure. Gives back that wait. */
  addRateLimited(key: K, error?: unknown): number {
    const delayMs = this.#limiter.when(key, error);
    this.addAfter(key, delayMs);
    return delayMs;
  }

  forget(key: K): void {
    this.#limiter.forget(key);
  }

  failures(key: K): number {
    return this.#limiter.failures(key);
  }

  get(): Promise<Handout<K>> {
    return this.#queue.get();
  }

  done(key: K): void {
    this.#queue.done(key);
  }

  shutDown(): void {
    this.#cancelAll();
    this.#queue.shutDown();
  }

  /** As {@link WorkQueue.shutDownWithDrain}; delayed keys are not waited for, but reported. */
  async shutDownWithDrain(expired: Promise<void>): Promise<DrainReport<K>> {
    const delayed = [...this.#delayed.keys()];
    this.#cancelAll();
    const report = await this.#queue.shutDownWithDrain(expired);
    return { drained: report.drained, left: [...report.left, ...delayed] };
  }

  #cancel(key: K): void {
    this.#delayed.get(key)?.timer.cancel();
    this.#delayed.delete(key);
  }

  #cancelAll(): void {
    for (const { timer } of this.#delayed.values()) timer.cancel();
    this.#delayed.clear();
  }
}
