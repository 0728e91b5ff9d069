/** The weight of a result, and the maximum total weight of a cache. */
export interface Weight<V> {
  readonly of: (value: V) => number;
  readonly max: number;
}

/** Recently computed results, by the object from which they were computed. Bounded: the oldest is evicted first. */
export class RecentCache<K extends object, V> {
  readonly #max: number;
  readonly #weight: Weight<V>;
  readonly #entries = new Map<K, V>();
  #heavy = 0;

  constructor(max: number, weight: Weight<V> = { of: () => 0, max: 0 }) {
    this.#max = max;
    this.#weight = weight;
  }

  /** The result for `key`; it is computed unless it is cached. */
  of(key: K, make: () => V): V {
    const known = this.#entries.get(key);
    if (known !== undefined) return known;
    const made = make();
    this.#entries.set(key, made);
    this.#heavy += this.#weight.of(made);
    for (const [oldest, value] of this.#entries) {
      if (this.#entries.size <= this.#max && this.#heavy <= this.#weight.max) break;
      this.#heavy -= this.#weight.of(value);
      this.#entries.delete(oldest);
    }
    return made;
  }
}
