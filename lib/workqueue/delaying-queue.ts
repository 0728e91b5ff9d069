import type { Clock, Metrics, Timer } from '../base/index.js';
import { type DrainReport, type Handout, WorkQueue, type WorkQueueOptions } from './queue.js';
import { QueueMetrics } from './queue-metrics.js';
import type { RateLimiter } from './rate-limiter.js';

interface Delayed {
  readonly readyAt: number;
  readonly priority: number;
  readonly timer: Timer;
}

/** Ports and order of a {@link RateLimitingQueue}. */
export interface RateLimitingQueueOptions<K> extends WorkQueueOptions<K> {
  readonly clock: Clock;
  readonly limiter: RateLimiter<K>;
  /** Label of the metrics. */
  readonly name?: string;
  readonly metrics?: Metrics;
}

/**
 * A work queue that can add later and after failures.
 * One pending delay a key: the earliest time wins, and a direct add cancels it (one run, not two).
 */
export class RateLimitingQueue<K> {
  readonly #queue: WorkQueue<K>;
  readonly #clock: Clock;
  readonly #limiter: RateLimiter<K>;
  readonly #metrics: QueueMetrics<K> | undefined;
  readonly #delayed = new Map<K, Delayed>();

  constructor(options: RateLimitingQueueOptions<K>) {
    this.#queue = new WorkQueue(options);
    this.#clock = options.clock;
    this.#limiter = options.limiter;
    if (options.metrics)
      this.#metrics = new QueueMetrics(options.metrics, options.clock, options.name ?? 'queue');
  }

  /** Keys ready to be handed out; delayed ones do not count. */
  get len(): number {
    return this.#queue.len;
  }

  /** Keys waiting for their time. */
  get delayed(): number {
    return this.#delayed.size;
  }

  /** Adds now; a pending delay of the key is over. */
  add(key: K, priority = 0): void {
    const waiting = this.#delayed.get(key);
    if (waiting) {
      waiting.timer.cancel();
      this.#delayed.delete(key);
    }
    this.#add(key, Math.max(priority, waiting?.priority ?? priority));
  }

  /** Adds after `delayMs`; 0 or less is `add`. */
  addAfter(key: K, delayMs: number, priority = 0): void {
    if (this.#queue.shuttingDown) return;
    if (delayMs <= 0) {
      this.add(key, priority);
      return;
    }
    const readyAt = this.#clock.monotonic() + delayMs;
    const before = this.#delayed.get(key);
    if (before && before.readyAt <= readyAt && before.priority >= priority) return;
    before?.timer.cancel();
    const at = Math.min(readyAt, before?.readyAt ?? Infinity);
    const wins = Math.max(priority, before?.priority ?? priority);
    const timer = this.#clock.setTimer(() => {
      this.#delayed.delete(key);
      this.#add(key, wins);
    }, at - this.#clock.monotonic());
    this.#delayed.set(key, { readyAt: at, priority: wins, timer });
  }

  /** Adds after the wait that the limiter gives for one more failure. Gives back that wait. */
  addRateLimited(key: K, error?: unknown, priority = 0): number {
    const delayMs = this.#limiter.when(key, error);
    this.#metrics?.retried();
    this.addAfter(key, delayMs, priority);
    return delayMs;
  }

  /** The key succeeded: its next failure starts over. */
  forget(key: K): void {
    this.#limiter.forget(key);
  }

  failures(key: K): number {
    return this.#limiter.failures(key);
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

  /** Brings the gauges of running work up to date; to be called now and then. */
  refreshMetrics(): void {
    this.#metrics?.refresh();
  }

  shutDown(): void {
    this.#cancelAll();
    this.#queue.shutDown();
    this.#metrics?.clear();
  }

  /** As {@link WorkQueue.shutDownWithDrain}; delayed keys are not waited for, but reported. */
  async shutDownWithDrain(expired: Promise<void>): Promise<DrainReport<K>> {
    const delayed = [...this.#delayed.keys()];
    this.#cancelAll();
    const report = await this.#queue.shutDownWithDrain(expired);
    const left = [...report.left, ...delayed];
    return { drained: left.length === 0, left };
  }

  #add(key: K, priority: number): void {
    this.#queue.add(key, priority);
    this.#metrics?.added(key, this.#queue.len);
  }

  #cancelAll(): void {
    for (const { timer } of this.#delayed.values()) timer.cancel();
    this.#delayed.clear();
  }
}
