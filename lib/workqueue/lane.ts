import { Fifo } from './fifo.js';
import type { GroupLimit } from './group-limit.js';

/** Keys of one priority in handout order. */
export interface Lane<K> {
  readonly priority: number;
  /** Number of waiting keys; abandoned slots don't count. */
  readonly length: number;
  push(key: K): void;
  /** The next waiting key; undefined if there is none, or if all groups with keys are full. */
  shift(): K | undefined;
  clear(): void;
  /** Abandons the oldest slot of a key that left this lane before its turn: it is skipped. */
  abandon(key: K): void;
  /** Moves the waiting keys to their present groups. */
  regroup(): void;
}

/** Abandoned slots that are kept until their turn, in addition to one per waiting key. */
const slackMax = 64;

/** Abandoned slots by key: each is older than the key's valid slot of the same lane. */
class AbandonedSlots<K> {
  readonly #counts = new Map<K, number>();
  #total = 0;

  get total(): number {
    return this.#total;
  }

  add(key: K): void {
    this.#counts.set(key, (this.#counts.get(key) ?? 0) + 1);
    this.#total += 1;
  }

  /** Removes one abandoned slot of the key; false if the key has none. */
  take(key: K): boolean {
    if (this.#total === 0) return false;
    const count = this.#counts.get(key);
    if (count === undefined) return false;
    if (count === 1) this.#counts.delete(key);
    else this.#counts.set(key, count - 1);
    this.#total -= 1;
    return true;
  }

  clear(): void {
    this.#counts.clear();
    this.#total = 0;
  }
}

/**
 * A lane with the oldest key first. Memory is proportional to the waiting keys: abandoned slots are removed when they
 * outnumber them.
 */
export class FifoLane<K> implements Lane<K> {
  readonly priority: number;
  readonly #slots = new Fifo<K>();
  readonly #abandoned = new AbandonedSlots<K>();

  constructor(priority: number) {
    this.priority = priority;
  }

  get length(): number {
    return this.#slots.length - this.#abandoned.total;
  }

  push(key: K): void {
    this.#slots.push(key);
  }

  shift(): K | undefined {
    if (this.#abandoned.total === 0) return this.#slots.shift();
    for (;;) {
      const key = this.#slots.shift();
      if (key !== undefined && this.#abandoned.take(key)) continue;
      // A lane without waiting keys is not visited again: its abandoned slots would stay.
      if (this.#abandoned.total > 0 && this.length === 0) this.clear();
      return key;
    }
  }

  clear(): void {
    this.#slots.clear();
    this.#abandoned.clear();
  }

  abandon(key: K): void {
    this.#abandoned.add(key);
    if (this.length === 0) this.clear();
    else if (this.#abandoned.total > this.length + slackMax) this.#sweep();
  }

  /** No-op: this lane has no groups. */
  regroup(): void {}

  /** Moves each key to the back in turn, without abandoned slots: the order stays. */
  #sweep(): void {
    for (let left = this.#slots.length; left > 0; left -= 1) {
      const key = this.#slots.shift();
      if (key !== undefined && !this.#abandoned.take(key)) this.#slots.push(key);
    }
  }
}

/** A round-robin over groups, each with its oldest key first: one group delays another by at most one key per turn. */
export class FairLane<K> implements Lane<K> {
  readonly priority: number;
  readonly #groupOf: (key: K) => string;
  /** Groups in {@link #turns}, each once; some may have no keys left. */
  readonly #groups = new Map<string, FifoLane<K>>();
  /** The group of each waiting key, as it was asked for last: so an unstable `groupOf` loses no key. */
  readonly #groupOfKey = new Map<K, string>();
  #turns = new Fifo<string>();
  #emptyGroups = 0;
  readonly #limit: GroupLimit<K> | undefined;

  constructor(priority: number, groupOf: (key: K) => string, limit?: GroupLimit<K>) {
    this.priority = priority;
    this.#groupOf = groupOf;
    this.#limit = limit;
  }

  get length(): number {
    return this.#groupOfKey.size;
  }

  push(key: K): void {
    const group = this.#groupOf(key);
    let keys = this.#groups.get(group);
    if (!keys) {
      keys = new FifoLane<K>(this.priority);
      this.#groups.set(group, keys);
      this.#turns.push(group);
    } else if (keys.length === 0) {
      this.#emptyGroups -= 1;
    }
    keys.push(key);
    this.#groupOfKey.set(key, group);
  }

  shift(): K | undefined {
    for (let full = 0; full < Math.max(1, this.#turns.length); ) {
      const group = this.#turns.shift();
      if (group === undefined) return undefined;
      const keys = this.#groups.get(group);
      if (keys && keys.length > 0 && this.#limit?.isFull(group)) {
        this.#turns.push(group);
        full += 1;
        continue;
      }
      const key = keys?.shift();
      if (keys && keys.length > 0) this.#turns.push(group);
      else this.#groups.delete(group);
      if (key === undefined) {
        this.#emptyGroups -= 1;
        continue;
      }
      this.#groupOfKey.delete(key);
      this.#limit?.take(key, group);
      if (this.#emptyGroups > 0 && this.length === 0) this.clear();
      return key;
    }
    return undefined;
  }

  clear(): void {
    this.#groups.clear();
    this.#groupOfKey.clear();
    this.#turns.clear();
    this.#emptyGroups = 0;
  }

  abandon(key: K): void {
    const group = this.#groupOfKey.get(key);
    if (group === undefined) return;
    this.#groupOfKey.delete(key);
    const keys = this.#groups.get(group);
    keys?.abandon(key);
    if (this.length === 0) return this.clear();
    if (keys?.length !== 0) return;
    // The empty group keeps its turn: a key that returns to it must not be served early.
    this.#emptyGroups += 1;
    if (this.#emptyGroups > this.#groups.size / 2 + slackMax) this.#sweep();
  }

  /** The keys of each group stay in the order in which they came. */
  regroup(): void {
    const keys = [...this.#groupOfKey.keys()];
    this.clear();
    for (const key of keys) this.push(key);
  }

  /** Removes empty groups from the turns; the order of the others stays. */
  #sweep(): void {
    const turns = new Fifo<string>();
    for (let group = this.#turns.shift(); group !== undefined; group = this.#turns.shift()) {
      if (this.#groups.get(group)?.length === 0) this.#groups.delete(group);
      else turns.push(group);
    }
    this.#turns = turns;
    this.#emptyGroups = 0;
  }
}
