/** Bounds of a {@link FairQueue}. */
export interface FairQueueOptions {
  /** Maximum number of waiting items, at least 1. */
  readonly itemsMax: number;
  /** Maximum number of owners with separate shares; all others have one common share. */
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

  /** Removes and returns the oldest item; undefined for an empty lane. */
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
 * A bounded queue for many owners. If it is full, each new item removes the oldest item of the owner with the
 * most items. If several owners have the most, and the owner of the new item is one of them, its own is
 * removed. An owner within its fair share therefore loses nothing, regardless of the others. `push` takes
 * amortised constant time.
 */
export class FairQueue<T> {
  readonly #options: FairQueueOptions;
  /** Items in the order of arrival. */
  readonly #items = new Map<number, T>();
  readonly #lanes = new Map<string, Lane>();
  readonly #others = new Lane();
  /** The lanes that are not empty, by their length. Only a full queue needs it: undefined until then. */
  #byLength: Map<number, Set<Lane>> | undefined;
  #longest = 0;
  #next = 0;

  constructor(options: FairQueueOptions) {
    this.#options = options;
  }

  get length(): number {
    return this.#items.size;
  }

  /** Adds an item. Returns the item that was removed for it; undefined unless the queue was full. */
  push(owner: string, item: T): T | undefined {
    const lane = this.#laneOf(owner);
    this.#items.set(this.#next, item);
    this.#resize(lane, () => lane.push(this.#next));
    this.#next += 1;
    return this.#items.size > this.#options.itemsMax ? this.#evict(lane) : undefined;
  }

  /** Removes all items; returns them in the order of arrival. */
  drain(): readonly T[] {
    const items = [...this.#items.values()];
    this.#items.clear();
    this.#lanes.clear();
    while (this.#others.shift() !== undefined);
    this.#byLength = undefined;
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
    const byLength = (this.#byLength ??= this.#lanesByLength());
    const longest = byLength.get(this.#longest);
    const lane = longest?.has(newest) ? newest : longest?.values().next().value;
    if (!lane) return undefined;
    const number = this.#resize(lane, () => lane.shift());
    if (number === undefined) return undefined;
    const item = this.#items.get(number);
    this.#items.delete(number);
    return item;
  }

  #lanesByLength(): Map<number, Set<Lane>> {
    const byLength = new Map<number, Set<Lane>>();
    for (const lane of [...this.#lanes.values(), this.#others]) {
      const { length } = lane;
      if (length === 0) continue;
      const lanes = byLength.get(length);
      if (lanes) lanes.add(lane);
      else byLength.set(length, new Set([lane]));
      if (length > this.#longest) this.#longest = length;
    }
    return byLength;
  }

  /** Changes a lane by one item and updates {@link FairQueue.#byLength}. */
  #resize<R>(lane: Lane, change: () => R): R {
    const byLength = this.#byLength;
    if (!byLength) return change();
    const before = byLength.get(lane.length);
    before?.delete(lane);
    if (before?.size === 0) byLength.delete(lane.length);
    const result = change();
    const lanes = byLength.get(lane.length) ?? new Set();
    if (lane.length > 0) byLength.set(lane.length, lanes.add(lane));
    // The length changed by at most one, so the next shorter length exists.
    if (lane.length > this.#longest) this.#longest = lane.length;
    else if (!byLength.has(this.#longest)) this.#longest = lane.length;
    return result;
  }
}
