import { TimeSlice, type Clock } from '../base/index.js';
import type { ApiObject, IndexFunction, Stored } from '../object/index.js';

/** Read side of an informer's cache. Objects are frozen and shared: never change them. */
export interface Lister<T extends ApiObject, I extends string = string> {
  get(key: string): T | undefined;
  has(key: string): boolean;
  /** Every object; parses those that nobody looked at yet. */
  list(): readonly T[];
  /** Every key, in no order; parses nothing. */
  keys(): Iterable<string>;
  /** Objects whose index function gave `value`. @throws TypeError for an index that was not added. */
  byIndex(index: I, value: string): readonly T[];
}

interface Index<T> {
  readonly of: IndexFunction<T>;
  keys: Map<string, Set<string>>;
}

/** A content that is ready to be swapped in. */
export interface PreparedContent<T extends ApiObject> {
  readonly entries: Map<string, Stored<T>>;
  readonly indexes: ReadonlyMap<string, Map<string, Set<string>>>;
}

/** Objects by key with multi-value secondary indexes kept up to date on every change. */
export class Indexer<T extends ApiObject> implements Lister<T> {
  #entries = new Map<string, Stored<T>>();
  readonly #indexes = new Map<string, Index<T>>();

  get size(): number {
    return this.#entries.size;
  }

  addIndex(name: string, of: IndexFunction<T>): void {
    const index: Index<T> = { of, keys: new Map() };
    this.#indexes.set(name, index);
    for (const entry of this.#entries.values()) insert(index.keys, of, entry);
  }

  get(key: string): T | undefined {
    return this.#entries.get(key)?.object;
  }

  has(key: string): boolean {
    return this.#entries.has(key);
  }

  entry(key: string): Stored<T> | undefined {
    return this.#entries.get(key);
  }

  entries(): Iterable<Stored<T>> {
    return this.#entries.values();
  }

  keys(): Iterable<string> {
    return this.#entries.keys();
  }

  list(): readonly T[] {
    return Array.from(this.#entries.values(), (entry) => entry.object);
  }

  byIndex(name: string, value: string): readonly T[] {
    const index = this.#indexes.get(name);
    if (!index) throw new TypeError(`no index "${name}": add it before the informer starts`);
    const found: T[] = [];
    for (const key of index.keys.get(value) ?? []) {
      const entry = this.#entries.get(key);
      if (entry) found.push(entry.object);
    }
    return found;
  }

  /** Stores the entry and gives back the one before. */
  set(entry: Stored<T>): Stored<T> | undefined {
    const before = this.#entries.get(entry.key);
    for (const index of this.#indexes.values()) {
      if (before) remove(index, before);
      insert(index.keys, index.of, entry);
    }
    this.#entries.set(entry.key, entry);
    return before;
  }

  delete(key: string): Stored<T> | undefined {
    const before = this.#entries.get(key);
    if (!before) return undefined;
    for (const index of this.#indexes.values()) remove(index, before);
    this.#entries.delete(key);
    return before;
  }

  /** Builds a whole new content beside the present one, in slices. */
  async prepare(entries: readonly Stored<T>[], clock: Clock): Promise<PreparedContent<T>> {
    const slice = new TimeSlice(clock);
    const content = new Map<string, Stored<T>>();
    const indexes = new Map<string, Map<string, Set<string>>>();
    for (const name of this.#indexes.keys()) indexes.set(name, new Map());
    for (const entry of entries) {
      content.set(entry.key, entry);
      for (const [name, { of }] of this.#indexes) insert(indexes.get(name), of, entry);
      if (slice.due()) await slice.pause();
    }
    return { entries: content, indexes };
  }

  /** Swaps the whole content at once and gives back the content before. */
  swap(content: PreparedContent<T>): ReadonlyMap<string, Stored<T>> {
    const before = this.#entries;
    this.#entries = content.entries;
    for (const [name, index] of this.#indexes) {
      index.keys = content.indexes.get(name) ?? new Map<string, Set<string>>();
      // An index added while the content was prepared.
      if (!content.indexes.has(name))
        for (const entry of this.#entries.values()) insert(index.keys, index.of, entry);
    }
    return before;
  }
}

function insert<T extends ApiObject>(
  keys: Map<string, Set<string>> | undefined,
  of: IndexFunction<T>,
  entry: Stored<T>,
): void {
  for (const value of of(entry.object)) {
    const found = keys?.get(value);
    if (found) found.add(entry.key);
    else keys?.set(value, new Set([entry.key]));
  }
}

function remove<T extends ApiObject>(index: Index<T>, entry: Stored<T>): void {
  for (const value of index.of(entry.object)) {
    const keys = index.keys.get(value);
    keys?.delete(entry.key);
    if (keys?.size === 0) index.keys.delete(value);
  }
}
