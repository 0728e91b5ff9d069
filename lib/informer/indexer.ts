import { type Clock, messageOf, requireSynchronous, TimeSlice } from '../base/index.js';
import type { ApiObject, IndexFunction, Stored } from '../object/index.js';

/** The read interface of an informer's cache. Objects are frozen and shared. */
export interface Lister<T extends ApiObject, I extends string = string> {
  get(key: string): T | undefined;
  has(key: string): boolean;
  /** All objects; parses those that were not read yet. */
  list(): readonly T[];
  /** All keys, in any order; parses nothing. */
  keys(): Iterable<string>;
  /**
   * Objects for which the function of the index returned a list with `value`. Omits objects for which it threw or did
   * not return a list of strings; see {@link IndexFault}.
   * @throws TypeError for an index that was not added.
   */
  byIndex(index: I, value: string): readonly T[];
}

/** An object that is not in one index: its function threw for this version, or returned no list of strings. */
export interface IndexFault {
  readonly index: string;
  readonly key: string;
  readonly resourceVersion: string;
  /** Message of the thrown error. */
  readonly message: string;
}

type Keys = Map<string, Set<string>>;
type Faults = Map<string, IndexFault>;

interface Index<T> {
  readonly name: string;
  readonly of: IndexFunction<T>;
  /** Keys by value. */
  keys: Keys;
  /** By key: cached objects that are not in this index. */
  faults: Faults;
}

/** Content that is ready to be swapped in. */
export interface PreparedContent<T extends ApiObject> {
  readonly entries: Map<string, Stored<T>>;
  readonly indexes: ReadonlyMap<string, Pick<Index<T>, 'keys' | 'faults'>>;
}

/**
 * Objects by key with multi-value secondary indexes kept up to date on every change.
 *
 * Guarantees: if an index function throws or returns no list of strings, that object is missing in that index only.
 * `onFault` is called once for each version it throws for.
 *
 * Caveats: index functions must be pure. They are called again when an object leaves.
 */
export class Indexer<T extends ApiObject> implements Lister<T> {
  #entries = new Map<string, Stored<T>>();
  readonly #indexes = new Map<string, Index<T>>();
  readonly #onFault: (fault: IndexFault, error: unknown) => void;

  constructor(onFault: (fault: IndexFault, error: unknown) => void = () => undefined) {
    this.#onFault = onFault;
  }

  get size(): number {
    return this.#entries.size;
  }

  /** The objects that are missing in indexes now, by index. */
  get faults(): readonly IndexFault[] {
    return [...this.#indexes.values()].flatMap(({ faults }) => [...faults.values()]);
  }

  addIndex(name: string, of: IndexFunction<T>): void {
    const index: Index<T> = { name, of, keys: new Map(), faults: new Map() };
    this.#indexes.set(name, index);
    for (const entry of this.#entries.values()) this.#insert(index, entry);
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
    if (!index) throw this.#unknown(name);
    const found: T[] = [];
    for (const key of index.keys.get(value) ?? []) {
      const entry = this.#entries.get(key);
      if (entry) found.push(entry.object);
    }
    return found;
  }

  #unknown(name: string): TypeError {
    const known = [...this.#indexes.keys()].join(', ');
    return new TypeError(
      `there is no index "${name}", only ${known || 'none'}; declare it in the kind's indexes, or add it with addIndex`,
    );
  }

  /** Stores an entry and returns the previous one of its key, if any. */
  set(entry: Stored<T>): Stored<T> | undefined {
    const before = this.#entries.get(entry.key);
    for (const index of this.#indexes.values()) {
      const fault = before && remove(index, before);
      this.#insert(index, entry, fault);
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

  /** Builds new content in slices, without changing the present content. */
  async prepare(entries: readonly Stored<T>[], clock: Clock): Promise<PreparedContent<T>> {
    const slice = new TimeSlice(clock);
    const content = new Map<string, Stored<T>>();
    const indexes = new Map<string, Index<T>>();
    for (const [name, index] of this.#indexes)
      indexes.set(name, { ...index, keys: new Map(), faults: new Map() });
    for (const entry of entries) {
      content.set(entry.key, entry);
      for (const [name, index] of indexes)
        this.#insert(index, entry, this.#indexes.get(name)?.faults.get(entry.key));
      if (slice.due()) await slice.pause();
    }
    return { entries: content, indexes };
  }

  /** Swaps the whole content atomically and returns the previous one. */
  swap(content: PreparedContent<T>): ReadonlyMap<string, Stored<T>> {
    const before = this.#entries;
    this.#entries = content.entries;
    for (const [name, index] of this.#indexes) {
      const prepared = content.indexes.get(name);
      index.keys = prepared?.keys ?? new Map<string, Set<string>>();
      index.faults = prepared?.faults ?? new Map<string, IndexFault>();
      // The index was added after the content was prepared.
      if (!prepared) for (const entry of this.#entries.values()) this.#insert(index, entry);
    }
    return before;
  }

  /**
   * Adds an entry to an index. If the index function throws, records and reports a fault instead.
   * @param known the earlier fault of the key: the same version is not reported again
   */
  #insert(index: Index<T>, entry: Stored<T>, known?: IndexFault): void {
    const { key, resourceVersion } = entry;
    let values: readonly string[];
    try {
      values = valuesOf(index, entry);
    } catch (error) {
      const fault = { index: index.name, key, resourceVersion, message: messageOf(error) };
      index.faults.set(key, fault);
      if (known?.resourceVersion !== resourceVersion) this.#onFault(fault, error);
      return;
    }
    for (const value of values) {
      const found = index.keys.get(value);
      if (found) found.add(key);
      else index.keys.set(value, new Set([key]));
    }
  }
}

/**
 * Returns the values of an entry in an index.
 * @throws the error of the index function, and TypeError unless it returns a list of strings.
 */
function valuesOf<T extends ApiObject>(
  index: Pick<Index<T>, 'name' | 'of'>,
  entry: Stored<T>,
): readonly string[] {
  const given: unknown = requireSynchronous(`index ${index.name}`, index.of(entry.object));
  const values = Array.isArray(given) ? (given as unknown[]) : undefined;
  if (!values) throw new TypeError(`the index function returned ${String(given)}; return a list`);
  for (const value of values)
    if (typeof value !== 'string')
      throw new TypeError(
        `the index function returned a list with ${String(value)}; return strings`,
      );
  return values as string[];
}

/** Removes the entry from the index. Returns the fault if the entry was not in the index because of one. */
function remove<T extends ApiObject>(index: Index<T>, entry: Stored<T>): IndexFault | undefined {
  const fault = index.faults.get(entry.key);
  if (fault) {
    index.faults.delete(entry.key);
    return fault;
  }
  let values: readonly string[];
  try {
    values = valuesOf(index, entry);
  } catch {
    // The function succeeded when the entry was added and throws now: search all values for the entry.
    values = [...index.keys.keys()];
  }
  for (const value of values) {
    const keys = index.keys.get(value);
    keys?.delete(entry.key);
    if (keys?.size === 0) index.keys.delete(value);
  }
  return undefined;
}
