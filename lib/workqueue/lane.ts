import { Fifo } from './fifo.js';

/** Keys of one priority in the order they are handed out. */
export interface Lane<K> {
  readonly priority: number;
  readonly length: number;
  push(key: K): void;
  shift(): K | undefined;
  clear(): void;
}

/** Oldest first. */
export class FifoLane<K> extends Fifo<K> implements Lane<K> {
  readonly priority: number;

  constructor(priority: number) {
    super();
    this.priority = priority;
  }
}

/** Groups take turns, each with its oldest key first: however many keys one has, another waits for one of them. */
export class FairLane<K> implements Lane<K> {
  readonly priority: number;
  readonly #groupOf: (key: K) => string;
  readonly #groups = new Map<string, Fifo<K>>();
  /** Groups with keys, in the order of their turns. */
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
      keys = new Fifo<K>();
      this.#groups.set(group, keys);
      this.#turns.push(group);
    }
    keys.push(key);
    this.#length += 1;
  }

  shift(): K | undefined {
    const group = this.#turns.shift();
    if (group === undefined) return undefined;
    const keys = this.#groups.get(group);
    const key = keys?.shift();
    if (keys && keys.length > 0) this.#turns.push(group);
    else this.#groups.delete(group);
    this.#length -= 1;
    return key;
  }

  clear(): void {
    this.#groups.clear();
    this.#turns.clear();
    this.#length = 0;
  }
}
