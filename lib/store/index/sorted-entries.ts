/** Maximum entries per chunk: an insert moves half of them, a write after a snapshot copies them. */
const chunkMax = 512;

interface Keyed {
  readonly key: string;
}

interface Chunk<E> {
  entries: E[];
  /** True while a snapshot shares `entries`: they are copied before a change. */
  shared: boolean;
}

/**
 * Entries sorted by key, with snapshots that cost one reference per chunk: a snapshot shares the chunks, and a
 * later change copies only the one it touches.
 */
export class SortedEntries<E extends Keyed> {
  readonly #chunks: Chunk<E>[] = [];
  #size = 0;

  get size(): number {
    return this.#size;
  }

  /** Inserts the entry, or replaces the entry of the same key. */
  set(entry: E): void {
    const chunk = this.#chunkFor(entry.key);
    if (!chunk) {
      this.#chunks.push({ entries: [entry], shared: false });
      this.#size = 1;
      return;
    }
    const entries = own(chunk);
    const at = position(entries, entry.key);
    if (entries[at]?.key === entry.key) {
      entries[at] = entry;
      return;
    }
    entries.splice(at, 0, entry);
    this.#size += 1;
    if (entries.length > chunkMax) this.#split(chunk);
  }

  delete(key: string): void {
    const chunk = this.#chunkFor(key);
    if (!chunk) return;
    const at = position(chunk.entries, key);
    if (chunk.entries[at]?.key !== key) return;
    own(chunk).splice(at, 1);
    this.#size -= 1;
    if (chunk.entries.length === 0) this.#chunks.splice(this.#chunks.indexOf(chunk), 1);
  }

  /** All present entries in key order, unaffected by later changes. */
  snapshot(): readonly (readonly E[])[] {
    return this.#chunks.map((chunk) => {
      chunk.shared = true;
      return chunk.entries;
    });
  }

  /** Like {@link snapshot}, only for keys that start with `prefix`. */
  snapshotOf(prefix: string): readonly (readonly E[])[] {
    const found: E[][] = [];
    for (let at = this.#chunkIndex(prefix); at < this.#chunks.length; at += 1) {
      const chunk = this.#chunks[at];
      if (!chunk) break;
      const { entries } = chunk;
      const from = position(entries, prefix);
      let to = from;
      while (entries[to]?.key.startsWith(prefix)) to += 1;
      if (to - from === entries.length) {
        chunk.shared = true;
        found.push(entries);
      } else if (to > from) found.push(entries.slice(from, to));
      if (to < entries.length) break;
    }
    return found;
  }

  #split(chunk: Chunk<E>): void {
    const upper = chunk.entries.splice(chunkMax / 2);
    this.#chunks.splice(this.#chunks.indexOf(chunk) + 1, 0, { entries: upper, shared: false });
  }

  #chunkFor(key: string): Chunk<E> | undefined {
    return this.#chunks[this.#chunkIndex(key)];
  }

  /** The last chunk that starts at or before `key`; the first one if none does. */
  #chunkIndex(key: string): number {
    let low = 0;
    let high = this.#chunks.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      const first = this.#chunks[middle]?.entries[0];
      if (first !== undefined && first.key <= key) low = middle + 1;
      else high = middle;
    }
    return Math.max(0, low - 1);
  }
}

function own<E>(chunk: Chunk<E>): E[] {
  if (chunk.shared) {
    chunk.entries = chunk.entries.slice();
    chunk.shared = false;
  }
  return chunk.entries;
}

/** The position of `key`, present or not. */
function position<E extends Keyed>(entries: readonly E[], key: string): number {
  let low = 0;
  let high = entries.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    const entry = entries[middle];
    if (entry !== undefined && entry.key < key) low = middle + 1;
    else high = middle;
  }
  return low;
}
