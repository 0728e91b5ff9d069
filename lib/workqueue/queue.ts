import { GroupLimit } from './group-limit.js';
import {
  encode,
  priorityOf,
  processing,
  processingDirty,
  queued,
  requirePriority,
  stateOf,
} from './key-code.js';
import { FairLane, FifoLane, type Lane } from './lane.js';
import type { DrainReport, Handout, WorkQueueOptions } from './queue-options.js';

/**
 * Keys waiting for work: client-go's `workqueue` with priorities, a share for lower ones, and round-robin between
 * groups. Unlike there, `done` for a key that was not handed out does nothing, and a drain hands out everything
 * queued before it resolves.
 *
 * Guarantees:
 * - A key is in exactly one of the states absent, queued, processing, processing-and-dirty. A key is never with two
 *   workers, and is queued once regardless of the number of adds.
 * - A key added while it is processed is queued again when `done` is called, exactly once.
 * - Every queued key is handed out unless the queue shuts down: no priority and no group starves.
 * - With `groupConcurrency`, no group has more keys in process, and a full group delays no other.
 * - Memory follows the keys that are queued or processed, also when priorities are raised.
 *
 * Ordering: the highest priority first, except for one handout in `lowerShare`. Within a priority the oldest key is
 * first; with `groupOf`, groups are served round-robin with each group's oldest key first. A key whose priority is
 * raised while it waits goes to the tail of its new priority; priorities are not lowered.
 *
 * Errors: the constructor throws a RangeError for invalid options, and `add` for a priority out of range. If `groupOf`
 * throws, the key is queued in the group `''`.
 *
 * Caveats: keys are compared like keys of a Map, so use strings. After `shutDown` every `add` is dropped and
 * returns false.
 *
 * @example
 * import { WorkQueue } from 'kedge';
 *
 * const queue = new WorkQueue<string>();
 * queue.add('hall');
 * const next = await queue.get();
 * if (!next.shutDown) queue.done(next.key); // after the work on the key
 */
export class WorkQueue<K> {
  readonly #options: WorkQueueOptions<K>;
  readonly #lowerShare: number;
  readonly #limit: GroupLimit<K> | undefined;
  readonly #codes = new Map<K, number>();
  /** The lane of the default priority. */
  readonly #usual: Lane<K>;
  /** The lanes, highest priority first. */
  readonly #lanes: Lane<K>[];
  #length = 0;
  #handedOut = 0;
  readonly #waiting: ((handout: Handout<K>) => void)[] = [];
  readonly #drainers: (() => void)[] = [];
  #state: 'open' | 'draining' | 'shutDown' = 'open';

  constructor(options: WorkQueueOptions<K> = {}) {
    this.#options = options;
    this.#lowerShare = options.lowerShare ?? 8;
    if (!Number.isInteger(this.#lowerShare) || this.#lowerShare < 2)
      throw new RangeError(
        `lowerShare is ${this.#lowerShare}; give a whole number, 2 or more: one key in this many comes from a lower priority`,
      );
    const { groupConcurrency } = options;
    this.#limit = groupConcurrency === undefined ? undefined : new GroupLimit<K>(groupConcurrency);
    this.#usual = this.#makeLane(0);
    this.#lanes = [this.#usual];
  }

  /** Number of queued keys, those whose group is full included. */
  get len(): number {
    return this.#length;
  }

  get shuttingDown(): boolean {
    return this.#state !== 'open';
  }

  /**
   * Queues the key once, at the highest requested priority; a key in processing is queued again after it. False:
   * the queue is shutting down and drops it.
   * @throws RangeError for a priority that is not a whole number within {@link priorityMax}.
   */
  add(key: K, priority = 0): boolean {
    if (this.#state !== 'open') return false;
    if (priority !== 0) requirePriority(priority);
    const code = this.#codes.get(key);
    if (code === undefined) {
      this.#enqueue(key, priority);
      return true;
    }
    const state = stateOf(code);
    if (state === processing) {
      this.#codes.set(key, encode(processingDirty, priority));
    } else if (priority > priorityOf(code)) {
      if (state === queued) {
        this.#lane(priorityOf(code)).abandon(key);
        this.#lane(priority).push(key);
      }
      this.#codes.set(key, encode(state, priority));
    }
    return true;
  }

  /** True for a key that will be handed out without being added again: queued, or dirty. */
  isPending(key: K): boolean {
    const code = this.#codes.get(key);
    return code !== undefined && stateOf(code) !== processing;
  }

  /** Asks `groupOf` again for each queued key, after what it reads has changed. */
  regroup(): void {
    for (const lane of this.#lanes) lane.regroup();
    if (this.#limit) this.#serveWaiting();
  }

  /** Hands out the next key; undefined if none is ready. */
  tryGet(): K | undefined {
    if (this.#length === 0) return undefined;
    this.#handedOut += 1;
    let lane = this.#lanes.length === 1 ? this.#usual : this.#nextLane();
    let key = lane.shift();
    // All groups with keys of this priority are full.
    for (const other of key === undefined ? this.#lanes : []) {
      if (other === lane || other.length === 0) continue;
      key = other.shift();
      lane = other;
      if (key !== undefined) break;
    }
    if (key === undefined) return undefined;
    this.#codes.set(key, encode(processing, lane.priority));
    this.#length -= 1;
    return key;
  }

  /**
   * Waits for the next key. While the queue drains it resolves to the queued keys, and then, as after a shutdown, to `{
   * shutDown: true }`.
   */
  get(): Promise<Handout<K>> {
    const key = this.tryGet();
    if (key !== undefined)
      return Promise.resolve({ key, priority: this.priority(key), shutDown: false });
    if (this.#state !== 'open') return Promise.resolve({ shutDown: true });
    return new Promise((resolve) => this.#waiting.push(resolve));
  }

  /** Priority of a key that is queued or processed; 0 for others. */
  priority(key: K): number {
    const code = this.#codes.get(key);
    return code === undefined ? 0 : priorityOf(code);
  }

  /**
   * Ends the processing of a key. A key that was added meanwhile goes to the tail, unless the queue was shut down.
   * No-op unless the key is being processed.
   */
  done(key: K): void {
    const code = this.#codes.get(key);
    if (code === undefined) return;
    const state = stateOf(code);
    if (state === queued) return;
    this.#codes.delete(key);
    this.#limit?.release(key);
    // Also while draining: the change was added before the shutdown.
    if (state === processingDirty && this.#state !== 'shutDown')
      this.#enqueue(key, priorityOf(code));
    if (this.#limit) this.#serveWaiting();
    if (this.#codes.size === 0) this.#settleDrain();
  }

  /** Stops the queue: queued keys are dropped, waiting `get` calls end, and keys in process continue. Idempotent. */
  shutDown(): void {
    this.#state = 'shutDown';
    for (const [key, code] of this.#codes) if (stateOf(code) === queued) this.#codes.delete(key);
    for (const lane of this.#lanes) lane.clear();
    this.#length = 0;
    this.#endWaiting();
    this.#settleDrain();
  }

  /**
   * Accepts no more keys and resolves once all queued keys are done, or when `expired` resolves; then the rest is
   * dropped and reported.
   */
  async shutDownWithDrain(expired: Promise<void>): Promise<DrainReport<K>> {
    if (this.#state === 'open') this.#state = 'draining';
    this.#endWaiting();
    if (this.#codes.size > 0) {
      const drained = new Promise<void>((resolve) => this.#drainers.push(resolve));
      await Promise.race([drained, expired]);
    }
    const left = [...this.#codes.keys()];
    this.shutDown();
    return { drained: left.length === 0, left };
  }

  #enqueue(key: K, priority: number): void {
    const waiter = this.#limit ? undefined : this.#waiting.shift();
    if (waiter) {
      this.#codes.set(key, encode(processing, priority));
      waiter({ key, priority, shutDown: false });
      return;
    }
    this.#codes.set(key, encode(queued, priority));
    this.#length += 1;
    (priority === 0 ? this.#usual : this.#lane(priority)).push(key);
    if (this.#limit) this.#serveWaiting();
  }

  /** Hands out queued keys to waiting calls, as far as their groups are not full. */
  #serveWaiting(): void {
    while (this.#waiting.length > 0) {
      const key = this.tryGet();
      if (key === undefined) return;
      this.#waiting.shift()?.({ key, priority: this.priority(key), shutDown: false });
    }
  }

  #makeLane(priority: number): Lane<K> {
    const { groupOf } = this.#options;
    if (!groupOf) return new FifoLane<K>(priority);
    return new FairLane<K>(priority, (key) => this.#groupOf(groupOf, key), this.#limit);
  }

  #groupOf(groupOf: (key: K) => unknown, key: K): string {
    try {
      const group = groupOf(key);
      if (typeof group === 'string') return group;
      throw new TypeError(`groupOf returned ${String(group)}; it must return a string`);
    } catch (error) {
      this.#options.onGroupFault?.(error, key);
      return '';
    }
  }

  #lane(priority: number): Lane<K> {
    const known = this.#lanes.find((lane) => lane.priority === priority);
    if (known) return known;
    const lane = this.#makeLane(priority);
    this.#lanes.push(lane);
    this.#lanes.sort((a, b) => b.priority - a.priority);
    return lane;
  }

  /** Returns the highest lane with keys; every `lowerShare`-th time a lower lane with keys, in rotation. */
  #nextLane(): Lane<K> {
    let highest: Lane<K> | undefined;
    const lower: Lane<K>[] = [];
    const lowersTurn = this.#handedOut % this.#lowerShare === 0;
    for (const lane of this.#lanes) {
      if (lane.length === 0) continue;
      highest ??= lane;
      if (!lowersTurn) break;
      if (lane !== highest) lower.push(lane);
    }
    const turn = Math.floor(this.#handedOut / this.#lowerShare) % Math.max(1, lower.length);
    return lower[turn] ?? highest ?? this.#usual;
  }

  #endWaiting(): void {
    // The waiting calls found no key to hand out. The keys of full groups are left to the calls after `done`.
    for (const waiter of this.#waiting.splice(0)) waiter({ shutDown: true });
  }

  #settleDrain(): void {
    for (const settle of this.#drainers.splice(0)) settle();
  }
}
