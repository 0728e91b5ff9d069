import type { ProviderClock } from '../http/provider-clock.js';

const keptMs = 60_000;
const nodesMax = 10_000;

/** The instances that nodes are, for a minute: a lookup costs requests, and nodes keep their instance. */
export class InstanceCache {
  readonly #clock: ProviderClock;
  readonly #found = new Map<string, { readonly ids: readonly string[]; readonly until: number }>();

  constructor(clock: ProviderClock) {
    this.#clock = clock;
  }

  /** Looks up the ids of a node's instances. What is not exactly one is looked up each time. */
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

  /** After an answer that contradicts what was found. */
  forget(credential: string, node: string): void {
    this.#found.delete(`${credential} ${node}`);
  }
}
