import type { Step } from './watches.js';

/**
 * Maximum number of versions that are kept per key and object. If a run writes more, its oldest writes queue the key
 * again.
 */
const versionsMax = 16;
const keysMax = 10_000;

/**
 * Distinguishes the writes of a key's own runs from all others: a status that a run wrote must not queue its key
 * again, but a foreign change between two own writes must. Only an unbroken chain of own versions counts.
 */
export class OwnWrites {
  /** By key and object: the written version, with the version that it replaced. */
  readonly #chains = new Map<string, Map<string, string>>();

  /** Records a write of that key's run that replaced exactly `before`. */
  note(key: string, { object, before, after }: Step): void {
    const id = `${key} ${object}`;
    let chain = this.#chains.get(id);
    if (!chain) {
      chain = new Map();
      this.#chains.set(id, chain);
      if (this.#chains.size > keysMax) {
        const oldest = this.#chains.keys().next();
        if (!oldest.done) this.#chains.delete(oldest.value);
      }
    }
    chain.set(after, before);
    if (chain.size > versionsMax) {
      const oldest = chain.keys().next();
      if (!oldest.done) chain.delete(oldest.value);
    }
  }

  /** True when everything from `before` to `after` was written by runs of that key. These versions are then removed. */
  explain(key: string, { object, before, after }: Step): boolean {
    const id = `${key} ${object}`;
    const chain = this.#chains.get(id);
    if (!chain) return false;
    let version: string | undefined = after;
    while (version !== undefined && version !== before) version = chain.get(version);
    if (version === undefined) return false;
    // Removes the matched writes, so that each is matched once.
    for (
      let reported: string | undefined = after;
      reported !== undefined && reported !== before;
    ) {
      const next = chain.get(reported);
      chain.delete(reported);
      reported = next;
    }
    if (chain.size === 0) this.#chains.delete(id);
    return true;
  }

  /** Clears all chains: versions of another store's history are not comparable. */
  clear(): void {
    this.#chains.clear();
  }

  get size(): number {
    return this.#chains.size;
  }
}
