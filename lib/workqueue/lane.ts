import { Fifo } from './fifo.js';

/** Keys of one priority in the order they are handed out. */
export interface Lane<K> {
  readonly priority: number;
  /** Keys that wait here; abandoned slots don't count. */
  readonly length: number;
  push(key: K): void;
  /** The next key that waits here; undefined only when there is none. */
  shift(): K | undefined;
  clear(): void;
  /** The key waits elsewhere from now on: its oldest slot here is passed over. */
  abandon(key: K): void;
}

/** Slots that count no more, by key: each is older than the key's valid slot of the same lane. */
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

  /** True, once for each abandoned slot, for the key of a slot that came up. */
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

/** Oldest first. */
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
    for (;;) {
      const key = this.#slots.shift();
      if (key === undefined || !this.#abandoned.take(key)) return key;
    }
  }

  clear(): void {
    this.#slots.clear();
    this.#abandoned.clear();
  }

  abandon(key: K): void {
    this.#abandoned.add(key);
  }
}

/** Groups take turns, each with its oldest key first: however many keys one has, another waits for one of them. */
export class FairLane<K> implements Lane<K> {
  readonly priority: number;
  readonly #groupOf: (key: K) => string;
  readonly #groups = new Map<string, FifoLane<K>>();
  /** Groups with slots, in the order of their turns. */
  readonly #turns = new Fifo<string>();
  #length = 0;

  constructor(priority: number, groupOf: (key: K) => string) {
    this.priority = priority;
    this.#groupOf = groupOf;
  }

  get length(): number {
    return this.#length;
  }

  push(key: K): void {
    const group = this.#groupOf(key);
    let keys = this.#groups.get(group);
    if (!keys) {
      keys = new FifoLane<K>(this.priority);
      this.#groups.set(group, keys);
      this.#turns.push(group);
    }
    keys.push(key);
    this.#length += 1;
  }

  shift(): K | undefined {
    for (;;) {
      const group = this.#turns.shift();
      if (group === undefined) return undefined;
      const keys = this.#groups.get(group);
      const key = keys?.shift();
      if (keys && keys.length > 0) this.#turns.push(group);
      else this.#groups.delete(group);
      if (key === undefined) continue;
      this.#length -= 1;
      return key;
    }
  }

  clear(): void {
    this.#groups.clear();
    this.#turns.clear();
    this.#length = 0;
  }

  abandon(key: K): void {
    this.#groups.get(this.#groupOf(key))?.abandon(key);
    this.#length -= 1;
  }
}
