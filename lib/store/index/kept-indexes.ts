import { type Clock, invalid, StatusError } from '../../base/index.js';
import {
  type AnyKind,
  type ApiObject,
  type IndexFunction,
  namespaceIndex,
} from '../../object/index.js';
import { indexValues, WrongValues } from './index-values.js';
import type { LazyObject } from '../record/lazy-object.js';
import type { ObjectIndex } from './object-index.js';
import { ValueTable } from './value-table.js';

/** One index of one kind. */
export interface KeptIndex {
  readonly name: string;
  readonly of: IndexFunction<ApiObject>;
  /** Changes up to this revision are not tracked by value. */
  floor: number;
  /** Present once the index was used in a list. */
  table?: ValueTable;
  /** Settled when the table holds every object. */
  filled?: Promise<void>;
}

/**
 * The change of an object's values in an index. `before` and `after` are undefined if the function throws for that
 * state.
 */
export interface IndexedChange {
  readonly index: KeptIndex;
  readonly before: readonly string[] | undefined;
  readonly after: readonly string[] | undefined;
}

interface KindIndexes {
  /** The last seen declaration, to skip a known one. */
  seen: AnyKind['indexes'];
  readonly indexes: Map<string, KeptIndex>;
}

const none: readonly IndexedChange[] = [];

function valuesOrNone(index: KeptIndex, object: ApiObject): readonly string[] | undefined {
  try {
    return indexValues(index.of, object);
  } catch {
    // The object counts as one with unknown values, which affects every check and list.
    return undefined;
  }
}

/** The known indexes of kinds. A newly opened store knows no kinds: it learns their indexes from calls. */
export class KeptIndexes {
  readonly #kinds = new Map<string, KindIndexes>();

  /** Learns the indexes of a kind. Changes up to `revision` are not tracked for them. */
  learn({ kind, indexes }: AnyKind, revision: number): void {
    // A kind of which only the name is known has no indexes.
    if (indexes === undefined) return;
    let known = this.#kinds.get(kind);
    if (known?.seen === indexes) return;
    if (!known) {
      known = { seen: indexes, indexes: new Map() };
      this.#kinds.set(kind, known);
    }
    known.seen = indexes;
    for (const [name, of] of Object.entries(indexes))
      if (of && !known.indexes.has(name)) known.indexes.set(name, { name, of, floor: revision });
  }

  /**
   * Called for an accepted write of a kind at `revision`. Its changes may lack an index that was learned while the
   * write was staged, so changes of that index are tracked from this revision on.
   */
  settle(kind: string, revision: number): void {
    const indexes = this.#kinds.get(kind)?.indexes;
    if (!indexes) return;
    for (const index of indexes.values()) if (index.floor === revision - 1) index.floor = revision;
  }

  /**
   * Returns the index of a kind by its name.
   * @throws StatusError InvalidArgument if the kind does not have it, or declared it with another function
   */
  require(kind: AnyKind, name: string): KeptIndex {
    const index = this.#kinds.get(kind.kind)?.indexes.get(name);
    if (index && index.of === kind.indexes[name]) return index;
    const names = Object.keys(kind.indexes);
    if (kind.scope === 'Namespaced') names.unshift(namespaceIndex);
    const has = names.length === 0 ? 'it has none' : `it has ${names.join(', ')}`;
    const description = index
      ? `"${name}" of ${kind.kind} was already declared with another function; use one kind value for all calls`
      : `"${name}" is not an index of ${kind.kind}: ${has}`;
    throw invalid([{ field: 'index', description }]);
  }

  /**
   * Returns the changes of a write to the index values of its object.
   * @throws StatusError InvalidArgument (NotIndexable) if a function throws for the new state. If it throws for the
   * stored state too, the write is accepted, so that such objects can be changed and deleted.
   */
  changes(
    kind: string,
    key: string,
    before: LazyObject | undefined,
    after: ApiObject | undefined,
  ): readonly IndexedChange[] {
    const indexes = this.#kinds.get(kind)?.indexes;
    if (!indexes || indexes.size === 0) return none;
    const changes: IndexedChange[] = [];
    for (const index of indexes.values()) {
      const was = before ? valuesOrNone(index, before.object) : [];
      let now: readonly string[] | undefined = [];
      if (after)
        try {
          now = indexValues(index.of, after);
        } catch (cause) {
          if (was) throw notIndexable(kind, key, index.name, cause);
          now = undefined;
        }
      changes.push({ index, before: was, after: now });
    }
    return changes;
  }

  /** Tracks changes from `revision` on: some noted writes failed, and their revisions are reused. */
  reset(revision: number): void {
    for (const { indexes } of this.#kinds.values())
      for (const index of indexes.values()) index.floor = revision;
  }

  /**
   * Applies a change that became visible; `entry` is absent for a deletion. `changes` may be absent, or lack an index
   * that was learned meanwhile.
   */
  publish(
    kind: string,
    key: string,
    entry: LazyObject | undefined,
    changes: readonly IndexedChange[] | undefined,
  ): void {
    const indexes = this.#kinds.get(kind)?.indexes;
    if (!indexes || indexes.size === 0) return;
    for (const index of indexes.values()) {
      const { table } = index;
      if (!table) continue;
      if (!entry) {
        table.delete(key);
        continue;
      }
      const known = changes?.find((change) => change.index === index);
      table.set(key, known ? known.after : valuesOrNone(index, entry.object));
    }
  }

  /**
   * Resolves to a function that returns the present entries under a value, in key order. The first call for an
   * index reads all objects of the kind.
   * @throws StatusError as {@link require}; the function: FailedPrecondition (IndexIncomplete) while the
   * index function throws for a stored object
   */
  async under(
    kind: AnyKind,
    name: string,
    value: string,
    objects: ObjectIndex,
    clock: Clock,
  ): Promise<() => readonly LazyObject[]> {
    const index = this.require(kind, name);
    const table = (index.table ??= new ValueTable());
    index.filled ??= table.fill(
      objects.snapshot(kind.kind),
      (object) => valuesOrNone(index, object),
      clock,
    );
    await index.filled;
    return () => {
      if (table.fault !== undefined) throw incomplete(kind, name, table.fault);
      return table.keys(value).flatMap((key) => objects.get(kind.kind, key) ?? []);
    };
  }
}

function notIndexable(kind: string, key: string, index: string, cause: unknown): StatusError {
  // The thrown message may contain a secret part of the object.
  const what = cause instanceof WrongValues ? `gave ${cause.message}` : 'threw';
  return new StatusError({
    code: 'InvalidArgument',
    reason: 'NotIndexable',
    message: `${kind} "${key}" can't be stored: the function of its index "${index}" ${what}; change the object, or let the function return [] for it`,
    cause,
  });
}

function incomplete(kind: AnyKind, index: string, key: string): StatusError {
  return new StatusError({
    code: 'FailedPrecondition',
    reason: 'IndexIncomplete',
    message: `${kind.kind} can't be listed by index "${index}": its function throws for the stored "${key}"; change the function, or change or delete the object`,
  });
}
