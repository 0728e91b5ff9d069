/** Runs work of one key one after the other, of different keys side by side: a slow one delays only its own. */
export class KeyedWork {
  readonly #tails = new Map<string, Promise<unknown>>();

  /** Keys with work under way or waiting. */
  get size(): number {
    return this.#tails.size;
  }

  run<T>(key: string, work: () => Promise<T>): Promise<T> {
    const before = this.#tails.get(key) ?? Promise.resolve();
    const next = before.then(work, work);
    const tail = next
      .catch(() => undefined)
      .then(() => {
        if (this.#tails.get(key) === tail) this.#tails.delete(key);
      });
    this.#tails.set(key, tail);
    return next;
  }
}
