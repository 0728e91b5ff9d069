/** The keys in process of each group, up to a maximum for each. */
export class GroupLimit<K> {
  readonly #max: number;
  readonly #counts = new Map<string, number>();
  /** The group of each key in process, as it was when the key was queued. */
  readonly #groups = new Map<K, string>();

  /** @throws RangeError for a maximum that is not a whole number, 1 or more */
  constructor(max: number) {
    if (!Number.isInteger(max) || max < 1)
      throw new RangeError(`groupConcurrency is ${max}; give a whole number, 1 or more`);
    this.#max = max;
  }

  isFull(group: string): boolean {
    return (this.#counts.get(group) ?? 0) >= this.#max;
  }

  take(key: K, group: string): void {
    this.#groups.set(key, group);
    this.#counts.set(group, (this.#counts.get(group) ?? 0) + 1);
  }

  release(key: K): void {
    const group = this.#groups.get(key);
    if (group === undefined) return;
    this.#groups.delete(key);
    const left = (this.#counts.get(group) ?? 1) - 1;
    if (left > 0) this.#counts.set(group, left);
    else this.#counts.delete(group);
  }
}
