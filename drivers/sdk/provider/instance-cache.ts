import type { ProviderClock } from '../http/provider-clock.js';

const keptMs = 60_000;
const nodesMax = 10_000;

/** Caches the instance of each node for a minute, because lookups use requests of the budget. */
export class InstanceCache {
  readonly #clock: ProviderClock;
  readonly #found = new Map<string, { readonly ids: readonly string[]; readonly until: number }>();
  /** Lookups in progress. */
  readonly #asked = new Map<string, Promise<unknown>>();

  constructor(clock: ProviderClock) {
    this.#clock = clock;
  }

  /**
   * Returns the ids of a node's instances, from the cache or from `find`. Only a single instance is cached. Concurrent
   * calls wait for the first one's lookup until `signal` is aborted, and look up themselves unless it found exactly
   * one.
   */
  async of(
    credential: string,
    node: string,
    find: () => Promise<readonly string[]>,
    signal?: AbortSignal,
  ): Promise<readonly string[]> {
    const key = `${credential} ${node}`;
    const asked = this.#asked.get(key);
    if (asked) await endOf(asked, signal);
    const now = this.#clock.monotonic();
    const known = this.#found.get(key);
    if (known && known.until > now) return known.ids;
    this.#found.delete(key);
    const asking = find();
    this.#asked.set(key, asking);
    try {
      const ids = await asking;
      if (ids.length !== 1) return ids;
      if (this.#found.size >= nodesMax) this.#found.clear();
      this.#found.set(key, { ids, until: now + keptMs });
      return ids;
    } finally {
      if (this.#asked.get(key) === asking) this.#asked.delete(key);
    }
  }

  /** Removes a node's instance from the cache, after an answer that contradicts it. */
  forget(credential: string, node: string): void {
    this.#found.delete(`${credential} ${node}`);
  }
}

/** Resolves when a lookup of another call has ended, regardless of its result, or `signal` is aborted. */
function endOf(asked: Promise<unknown>, signal: AbortSignal | undefined): Promise<void> {
  return new Promise((resolve) => {
    const end = (): void => {
      signal?.removeEventListener('abort', end);
      resolve();
    };
    signal?.addEventListener('abort', end, { once: true });
    if (signal?.aborted) end();
    asked.then(end, end);
  });
}
