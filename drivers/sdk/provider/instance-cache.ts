import type { ProviderClock } from '../http/provider-clock.js';

const keptMs = 60_000;
const nodesMax = 10_000;

/** Caches the instance of each node for a minute, because lookups use requests of the budget. */
export class InstanceCache {
  readonly #clock: ProviderClock;
  readonly #found = new Map<string, { readonly ids: readonly string[]; readonly until: number }>();

  constructor(clock: ProviderClock) {
    this.#clock = clock;
  }

  /** Returns the ids of a node's instances, from the cache or from `find`. Only a single instance is cached. */
  async of(
    credential: string,
    node: string,
    find: () => Promise<readonly string[]>,
  ): Promise<readonly string[]> {
    const key = `${credential} ${node}`;
    const now = this.#clock.monotonic();
    const known = this.#found.get(key);
    if (known && known.until > now) return known.ids;
    this.#found.delete(key);
    const ids = await find();
    if (ids.length !== 1) return ids;
    if (this.#found.size >= nodesMax) this.#found.clear();
    this.#found.set(key, { ids, until: now + keptMs });
    return ids;
  }

  /** Removes a node's instance from the cache, after an answer that contradicts it. */
  forget(credential: string, node: string): void {
    this.#found.delete(`${credential} ${node}`);
  }
}
