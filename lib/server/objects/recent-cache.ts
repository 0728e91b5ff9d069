/** The weight of a result with its key, and the maximum total weight of a cache. */
export interface Weight<K, V> {
  /** Called once for each result. */
  readonly of: (value: V, key: K) => number;
  readonly max: number;
}

interface Kept<V> {
  readonly value: V;
  readonly weight: number;
}

/**
 * Recently computed results, by the object from which they were computed. Bounded: the oldest is evicted first, and a
 * result above the maximum weight is not cached.
 */
export class RecentCache<K extends object, V> {
  readonly #max: number;
  readonly #weight: Weight<K, V>;
  readonly #entries = new Map<K, Kept<V>>();
  #heavy = 0;

  constructor(max: number, weight: Weight<K, V> = { of: () => 0, max: 0 }) {
    this.#max = max;
    this.#weight = weight;
  }

  /** The result for `key`; it is computed unless it is cached. */
  of(key: K, make: () => V): V {
    const known = this.#entries.get(key);
    if (known) return known.value;
    const value = make();
    const weight = this.#weight.of(value, key);
    if (weight > this.#weight.max) return value;
    this.#entries.set(key, { value, weight });
    this.#heavy += weight;
    for (const [oldest, kept] of this.#entries) {
      if (this.#entries.size <= this.#max && this.#heavy <= this.#weight.max) break;
      this.#heavy -= kept.weight;
      this.#entries.delete(oldest);
    }
    return value;
  }
}

const bytesOfValue = 16;

/** The approximate bytes of a JSON value in memory, for the bounds of caches. */
export function roughBytes(value: unknown): number {
  if (typeof value === 'string') return bytesOfValue + value.length;
  if (typeof value !== 'object' || value === null) return bytesOfValue;
  let bytes = bytesOfValue;
  if (Array.isArray(value)) for (const item of value) bytes += roughBytes(item);
  else
    for (const name in value)
      bytes += bytesOfValue + name.length + roughBytes((value as Record<string, unknown>)[name]);
  return bytes;
}
