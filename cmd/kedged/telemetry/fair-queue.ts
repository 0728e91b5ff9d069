/** Bounds of a {@link FairQueue}. */
export interface FairQueueOptions {
  /** Items that wait at once, at least 1. */
  readonly itemsMax: number;
  /** Owners with a share of their own at once; all others share one more. */
  readonly ownersMax: number;
}

/** The waiting items of one owner, oldest first. */
class Lane {
  #numbers: number[] = [];
  #head = 0;

  get length(): number {
    return this.#numbers.length - this.#head;
  }

  push(number: number): void {
    this.#numbers.push(number);
  }

  /** Removes the oldest. */
  shift(): number | undefined {
    const number = this.#numbers[this.#head];
    if (number === undefined) return undefined;
    this.#head += 1;
    if (this.#head > this.length) {
      this.#numbers = this.#numbers.slice(this.#head);
      this.#head = 0;
    }
    return number;
  }
}

/**
 * A bounded queue that many owners fill. Once it is full, each new item removes the oldest one of the owner that
 * has the most, which is the new item's own where several have as many. An owner within its fair share therefore
 * loses nothing, regardless of the others. `push` takes amortised constant time.
 */
export class FairQueue<T> {
  readonly #options: FairQueueOptions;
  /** In the order of arrival. */
  readonly #items = new Map<number, T>();
  readonly #lanes = new Map<string, Lane>();
  readonly #others = new Lane();
  /** The lanes that are not empty, by their length. */
  readonly #byLength = new Map<number, Set<Lane>>();
  #longest = 0;
  #next = 0;

  constructor(options: FairQueueOptions) {
    this.#options = options;
  }

  get length(): number {
    return this.#items.size;
  }

  /** Adds an item; returns the one that was removed for it. */
  push(owner: string, item: T): T | undefined {
    const lane = this.#laneOf(owner);
    this.#items.set(this.#next, item);
    this.#resize(lane, () => lane.push(this.#next));
    this.#next += 1;
    return this.#items.size > this.#options.itemsMax ? this.#evict(lane) : undefined;
  }

  /** Removes everything; returns it in the order of arrival. */
  drain(): readonly T[] {
    const items = [...this.#items.values()];
    this.#items.clear();
    this.#lanes.clear();
    while (this.#others.shift() !== undefined);
    this.#byLength.clear();
    this.#longest = 0;
    return items;
  }

  #laneOf(owner: string): Lane {
    const known = this.#lanes.get(owner);
    if (known) return known;
    if (this.#lanes.size >= this.#options.ownersMax) return this.#others;
    const lane = new Lane();
    this.#lanes.set(owner, lane);
    return lane;
  }

  #evict(newest: Lane): T | undefined {
    const longest = this.#byLength.get(this.#longest);
    const lane = longest?.has(newest) ? newest : longest?.values().next().value;
    if (!lane) return undefined;
    const number = this.#resize(lane, () => lane.shift());
    if (number === undefined) return undefined;
    const item = this.#items.get(number);
    this.#items.delete(number);
    return item;
  }

  /** Changes a lane by one item, and keeps {@link FairQueue.#byLength} in step. */
  #resize<R>(lane: Lane, change: () => R): R {
    const before = this.#byLength.get(lane.length);
    before?.delete(lane);
    if (before?.size === 0) this.#byLength.delete(lane.length);
    const result = change();
    const lanes = this.#byLength.get(lane.length) ?? new Set();
    if (lane.length > 0) this.#byLength.set(lane.length, lanes.add(lane));
    // By one at most, so the next shorter length is there.
    if (lane.length > this.#longest) this.#longest = lane.length;
    else if (!this.#byLength.has(this.#longest)) this.#longest = lane.length;
    return result;
  }
}
