import {
  type ApiObject,
  keyString,
  type Kind,
  type ObjectKey,
  requireLookup,
} from '../../object/index.js';
import type { LazyObject } from '../record/lazy-object.js';
import { SortedEntries } from './sorted-entries.js';

/** A pending write. */
export interface Pending {
  readonly entry: LazyObject;
  readonly exists: boolean;
}

/** The objects of one kind. */
class Table {
  readonly #entries = new Map<string, LazyObject>();
  readonly sorted = new SortedEntries<LazyObject>();
  /** The pending state after the visible one; conflicts are checked against it. */
  readonly pending = new Map<string, Pending>();

  get(key: string): LazyObject | undefined {
    return this.#entries.get(key);
  }

  set(entry: LazyObject): void {
    this.#entries.set(entry.key, entry);
    this.sorted.set(entry);
  }

  delete(key: string): void {
    if (this.#entries.delete(key)) this.sorted.delete(key);
  }
}

/** The objects of a store by kind and key: visible and pending state. */
export class ObjectIndex {
  readonly #tables = new Map<string, Table>();

  table(kind: string): Table {
    let table = this.#tables.get(kind);
    if (!table) {
      table = new Table();
      this.#tables.set(kind, table);
    }
    return table;
  }

  get(kind: string, key: string): LazyObject | undefined {
    return this.#tables.get(kind)?.get(key);
  }

  /**
   * Returns the object of a key; undefined if it does not exist.
   * @throws StatusError InvalidArgument for a key that no object of the kind may have
   */
  lookup<T extends ApiObject>(kind: Kind<T>, key: ObjectKey): T | undefined {
    const entry = this.get(kind.kind, keyString(key));
    const object = entry && (entry as LazyObject<T>).object;
    requireLookup(kind, key, object);
    return object;
  }

  /** Clears pending writes, because their outcome was read back. */
  clearPending(): void {
    for (const table of this.#tables.values()) table.pending.clear();
  }

  /** The present objects of a kind, in key order, in chunks; `namespace` must match exactly. */
  snapshot(kind: string, namespace?: string): readonly (readonly LazyObject[])[] {
    const sorted = this.#tables.get(kind)?.sorted;
    if (!sorted) return [];
    return namespace === undefined ? sorted.snapshot() : sorted.snapshotOf(`${namespace}/`);
  }

  /** The present objects of every kind. */
  snapshotAll(): ReadonlyMap<string, readonly (readonly LazyObject[])[]> {
    return new Map([...this.#tables].map(([kind, { sorted }]) => [kind, sorted.snapshot()]));
  }
}
