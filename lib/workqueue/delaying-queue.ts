import {
  type Clock,
  type Metrics,
  portRules,
  requireOptions,
  type Timer,
  withMethods,
} from '../base/index.js';
import { WorkQueue } from './queue.js';
import type { DrainReport, Handout, WorkQueueOptions } from './queue-options.js';
import { requirePriority } from './key-code.js';
import { QueueMetrics } from './queue-metrics.js';
import type { RateLimiter } from './rate-limiter.js';

interface Delayed {
  readonly readyAt: number;
  readonly priority: number;
  timer: Timer;
}

const clock = withMethods('a Clock, such as systemClock', 'now', 'monotonic', 'setTimer');
const limiter = withMethods('a RateLimiter, such as an ItemBackoff', 'when', 'failures', 'forget');

/** Node.js turns a longer timer into 1 ms, and other clocks may too: longer delays use several timers. */
const timerMaxMs = 2 ** 31 - 1;

/** Options of a {@link RateLimitingQueue}. */
export interface RateLimitingQueueOptions<K> extends WorkQueueOptions<K> {
  readonly clock: Clock;
  readonly limiter: RateLimiter<K>;
  /** Label `name` of the metrics. */
  readonly name?: string;
  readonly metrics?: Metrics;
}

/**
 * A {@link WorkQueue} that can add later and after failures.
 *
 * Guarantees: one pending delay per key. The earliest time wins. A delay for a key that is queued or dirty is
 * dropped, so that it is handed out once. A delay is never shorter than requested and may be months long.
 *
 * Ordering: a key is queued when its delay ends. Keys of one instant are queued in any order.
 *
 * Errors: `addAfter` throws a RangeError for a delay that is not a finite number or a priority out of range, and
 * `addRateLimited` for a limiter that returns such a delay. Errors of metrics reach the caller: pass guarded ones
 * (see guardedMetrics).
 *
 * Caveats: delays are in memory. A shutdown forgets them; a drain reports their keys.
 *
 * @example
 * import { ItemBackoff, RateLimitingQueue, systemClock, systemRandom } from 'kedge';
 *
 * const limiter = new ItemBackoff<string>(systemRandom);
 * const queue = new RateLimitingQueue<string>({ clock: systemClock, limiter });
 * queue.addAfter('hall', 5_000);
 * const next = await queue.get();
 * if (!next.shutDown) {
 *   queue.addRateLimited(next.key); // the work failed
 *   queue.done(next.key);
 * }
 */
export class RateLimitingQueue<K> {
  readonly #queue: WorkQueue<K>;
  readonly #clock: Clock;
  readonly #limiter: RateLimiter<K>;
  readonly #metrics: QueueMetrics<K> | undefined;
  readonly #delayed = new Map<K, Delayed>();

  /** @throws TypeError, RangeError that names an invalid option */
  constructor(options: RateLimitingQueueOptions<K>) {
    requireOptions('RateLimitingQueue', options, { clock, limiter, metrics: portRules.metrics });
    this.#queue = new WorkQueue(options);
    this.#clock = options.clock;
    this.#limiter = options.limiter;
    if (options.metrics)
      this.#metrics = new QueueMetrics(options.metrics, options.clock, options.name ?? 'queue');
  }

  /** Number of keys ready to be handed out; delayed ones do not count. */
  get len(): number {
    return this.#queue.len;
  }

  /** Number of delayed keys. */
  get delayed(): number {
    return this.#delayed.size;
  }

  /**
   * Adds a key now and cancels its pending delay.
   * @throws RangeError for a priority out of range.
   */
  add(key: K, priority = 0): void {
    requirePriority(priority);
    const waiting = this.#delayed.get(key);
    if (waiting) {
      waiting.timer.cancel();
      this.#delayed.delete(key);
    }
    this.#add(key, Math.max(priority, waiting?.priority ?? priority));
  }

  /**
   * Adds a key after `delayMs`. Same as `add` for a delay of 0 or less, and for a key that is queued or dirty. The
   * earliest of several delays of a key applies, and the highest of several priorities. Dropped after a shutdown.
   * @throws RangeError for a delay that is not finite, or a priority out of range.
   */
  addAfter(key: K, delayMs: number, priority = 0): void {
    requirePriority(priority);
    if (!Number.isFinite(delayMs))
      throw new RangeError(`delay ${delayMs} is not a finite number of milliseconds`);
    if (this.#queue.shuttingDown) return;
    if (delayMs <= 0 || this.#queue.isPending(key)) {
      this.add(key, priority);
      return;
    }
    const readyAt = this.#clock.monotonic() + delayMs;
    const before = this.#delayed.get(key);
    if (before && before.readyAt <= readyAt && before.priority >= priority) return;
    before?.timer.cancel();
    const at = Math.min(readyAt, before?.readyAt ?? Infinity);
    const wins = Math.max(priority, before?.priority ?? priority);
    this.#delayed.set(key, { readyAt: at, priority: wins, timer: this.#timer(key, at) });
  }

  /**
   * Adds a key after the delay that the limiter returns for one more failure. Returns that delay.
   * @throws RangeError if the limiter does not return a finite number.
   */
  addRateLimited(key: K, error?: unknown, priority = 0): number {
    const delayMs = this.#limiter.when(key, error);
    this.#metrics?.retried();
    this.addAfter(key, delayMs, priority);
    return delayMs;
  }

  /** Resets the failures of a key after a success. */
  forget(key: K): void {
    this.#limiter.forget(key);
  }

  failures(key: K): number {
    return this.#limiter.failures(key);
  }

  /** See {@link WorkQueue.regroup}. */
  regroup(): void {
    this.#queue.regroup();
  }

  /** See {@link WorkQueue.tryGet}. */
  tryGet(): K | undefined {
    const key = this.#queue.tryGet();
    if (key !== undefined) this.#metrics?.started(key, this.#queue.len);
    return key;
  }

  async get(): Promise<Handout<K>> {
    const handout = await this.#queue.get();
    if (!handout.shutDown) this.#metrics?.started(handout.key, this.#queue.len);
    return handout;
  }

  /** See {@link WorkQueue.priority}. */
  priority(key: K): number {
    return this.#queue.priority(key);
  }

  done(key: K): void {
    this.#queue.done(key);
    this.#metrics?.done(key, this.#queue.len);
  }

  /** Updates the gauges of running work; call it periodically. */
  refreshMetrics(): void {
    this.#metrics?.refresh();
  }

  shutDown(): void {
    this.#cancelAll();
    this.#queue.shutDown();
    this.#metrics?.clear();
  }

  /** Like {@link WorkQueue.shutDownWithDrain}; delayed keys are not awaited, but reported. */
  async shutDownWithDrain(expired: Promise<void>): Promise<DrainReport<K>> {
    const delayed = [...this.#delayed.keys()];
    this.#cancelAll();
    const report = await this.#queue.shutDownWithDrain(expired);
    this.#metrics?.clear();
    const left = [...report.left, ...delayed];
    return { drained: left.length === 0, left };
  }

  #timer(key: K, readyAt: number): Timer {
    const leftMs = Math.max(0, readyAt - this.#clock.monotonic());
    return this.#clock.setTimer(() => this.#elapsed(key), Math.min(leftMs, timerMaxMs));
  }

  #elapsed(key: K): void {
    const delayed = this.#delayed.get(key);
    if (!delayed) return;
    if (this.#clock.monotonic() < delayed.readyAt) {
      delayed.timer = this.#timer(key, delayed.readyAt);
      return;
    }
    this.#delayed.delete(key);
    this.#add(key, delayed.priority);
  }

  #add(key: K, priority: number): void {
    if (this.#queue.add(key, priority)) this.#metrics?.added(key, this.#queue.len);
  }

  #cancelAll(): void {
    for (const { timer } of this.#delayed.values()) timer.cancel();
    this.#delayed.clear();
  }
}
