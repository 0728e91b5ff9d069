/** Results that were needed lately, by the object they were made of; bounded, the oldest goes first. */
export class RecentCache<K extends object, V> {
  readonly #max: number;
  readonly #entries = new Map<K, V>();

  constructor(max: number) {
    this.#max = max;
  }

  /** The result for `key`, made now unless it is known. */
  of(key: K, make: () => V): V {
    const known = this.#entries.get(key);
    if (known !== undefined) return known;
    const made = make();
    this.#entries.set(key, made);
    const oldest = this.#entries.keys().next();
    if (this.#entries.size > this.#max && !oldest.done) this.#entries.delete(oldest.value);
    return made;
  }
}
