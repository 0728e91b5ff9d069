import { type ApiObject, keyOf, keyString } from '../object/index.js';

/** The values an object is found under in one index; none hides it, many list it under each. */
export type IndexFunction<T> = (object: T) => readonly string[];

/** Read side of an informer's cache. Objects are frozen and shared: never change them. */
export interface Lister<T extends ApiObject> {
  get(key: string): T | undefined;
  list(): readonly T[];
  /** Objects whose index function gave `value`. @throws TypeError for an index that was not added. */
  byIndex(index: string, value: string): readonly T[];
}

interface Index<T> {
  readonly of: IndexFunction<T>;
  readonly keys: Map<string, Set<string>>;
}

/** Objects by key with multi-value secondary indexes kept up to date on every change. */
export class Indexer<T extends ApiObject> implements Lister<T> {
  #objects = new Map<string, T>();
  readonly #indexes = new Map<string, Index<T>>();

  get size(): number {
    return this.#objects.size;
  }

  addIndex(name: string, of: IndexFunction<T>): void {
    const index: Index<T> = { of, keys: new Map() };
    this.#indexes.set(name, index);
    for (const [key, object] of this.#objects) insert(index, key, object);
  }

  get(key: string): T | undefined {
    return this.#objects.get(key);
  }

  list(): readonly T[] {
    return [...this.#objects.values()];
  }

  byIndex(name: string, value: string): readonly T[] {
    const index = this.#indexes.get(name);
    if (!index) throw new TypeError(`no index "${name}": add it before the informer starts`);
    const found: T[] = [];
    for (const key of index.keys.get(value) ?? []) {
      const object = this.#objects.get(key);
      if (object) found.push(object);
    }
    return found;
  }

  /** Stores the object and gives back the one before. */
  set(object: T): T | undefined {
    const key = keyString(keyOf(object));
    const before = this.#objects.get(key);
    for (const index of this.#indexes.values()) {
      if (before) remove(index, key, before);
      insert(index, key, object);
    }
    this.#objects.set(key, object);
    return before;
  }

  delete(key: string): T | undefined {
    const before = this.#objects.get(key);
    if (!before) return undefined;
    for (const index of this.#indexes.values()) remove(index, key, before);
    this.#objects.delete(key);
    return before;
  }

  /** Swaps the whole content at once and gives back the content before. */
  replace(objects: readonly T[]): ReadonlyMap<string, T> {
    const before = this.#objects;
    this.#objects = new Map(objects.map((object) => [keyString(keyOf(object)), object]));
    for (const index of this.#indexes.values()) {
      index.keys.clear();
      for (const [key, object] of this.#objects) insert(index, key, object);
    }
    return before;
  }
}

function insert<T>(index: Index<T>, key: string, object: T): void {
  for (const value of index.of(object)) {
    const keys = index.keys.get(value);
    if (keys) keys.add(key);
    else index.keys.set(value, new Set([key]));
  }
}

function remove<T>(index: Index<T>, key: string, object: T): void {
  for (const value of index.of(object)) {
    const keys = index.keys.get(value);
    keys?.delete(key);
    if (keys?.size === 0) index.keys.delete(value);
  }
}
