import { limits } from '../../base/index.js';
import type { IndexedChange, KeptIndex } from '../index/kept-indexes.js';
import { namespaceIndex } from '../../object/index.js';

/** The part of a write that `checkKind` operations compare. */
export interface Touch {
  /** Only status changed. */
  readonly statusOnly: boolean;
  /** The values of kept indexes before and after the write. */
  readonly indexed: readonly IndexedChange[];
}

/** The last change of a kind or value. */
export interface LastChange {
  readonly revision: number;
  /** False if the exact revision is unknown: the change was at `revision` or earlier. */
  readonly exact: boolean;
}

/**
 * The last changes of values, by kind, index and value. The maps are nested, because a combined key would have to be
 * built and hashed for every write.
 */
class Generation {
  readonly #kinds = new Map<string, Map<string, Map<string, number>>>();
  #size = 0;
  #characters = 0;

  get size(): number {
    return this.#size;
  }

  /** Characters of the names of kinds and indexes, and of values. */
  get characters(): number {
    return this.#characters;
  }

  get(kind: string, index: string, value: string): number | undefined {
    return this.#kinds.get(kind)?.get(index)?.get(value);
  }

  set(kind: string, index: string, value: string, revision: number): void {
    let indexes = this.#kinds.get(kind);
    if (!indexes) {
      indexes = new Map<string, Map<string, number>>();
      this.#kinds.set(kind, indexes);
    }
    let values = indexes.get(index);
    if (!values) {
      values = new Map<string, number>();
      indexes.set(index, values);
    }
    const known = values.size;
    values.set(value, revision);
    if (values.size === known) return;
    this.#size += 1;
    this.#characters += kind.length + index.length + value.length;
  }
}

/**
 * The last change of each kind, and of recently changed index values. Status counts only where it moves an object
 * between values.
 *
 * Memory is bounded: two generations of index values are kept. When the younger one is full, the older one is
 * dropped as a whole, so a write costs constant time; dropped values count as changed at the end of the dropped
 * generation.
 */
export class RecentChanges {
  readonly #kinds = new Map<string, number>();
  #young = new Generation();
  #old = new Generation();
  #kindFloor: number;
  /** A value that is in neither generation did not change after this revision. */
  #valueFloor: number;
  /** The last revision of the older generation. */
  #oldEnd: number;
  readonly #valuesMax: number;
  readonly #charactersMax: number;

  /** @param revision the last one whose changes are not tracked */
  constructor(
    revision: number,
    valuesMax: number = limits.recentValuesMax,
    charactersMax: number = limits.recentValuesCharactersMax,
  ) {
    this.#kindFloor = revision;
    this.#valueFloor = revision;
    this.#oldEnd = revision;
    this.#valuesMax = valuesMax;
    this.#charactersMax = charactersMax;
  }

  /** Number of entries in both generations. A value in both counts twice. */
  get size(): number {
    return this.#young.size + this.#old.size;
  }

  /** Forgets all changes up to `revision`, because some noted writes may have failed. */
  reset(revision: number): void {
    this.#kinds.clear();
    this.#young = new Generation();
    this.#old = new Generation();
    this.#kindFloor = revision;
    this.#valueFloor = revision;
    this.#oldEnd = revision;
  }

  /** Notes a change of an object of a kind; `namespace` is that of the object. */
  note(
    kind: string,
    namespace: string | undefined,
    { statusOnly, indexed }: Touch,
    revision: number,
  ): void {
    if (!statusOnly) {
      this.#kinds.set(kind, revision);
      if (namespace !== undefined) this.#noteValue(kind, namespaceIndex, namespace, revision);
    }
    for (const { index, before, after } of indexed) {
      // The values before or after the change are unknown: all values of the index count as changed.
      if (!before || !after) index.floor = revision;
      const moved = statusOnly
        ? difference(before ?? [], after ?? [])
        : [before ?? [], after ?? []];
      for (const values of moved)
        for (const value of values) this.#noteValue(kind, index.name, value, revision);
    }
  }

  /** The last change of any object of a kind. */
  ofKind(kind: string): LastChange {
    const revision = this.#kinds.get(kind);
    return revision === undefined
      ? { revision: this.#kindFloor, exact: false }
      : { revision, exact: true };
  }

  /** The last change of an object under a value; `index` is absent for the namespace. */
  ofValue(kind: string, index: KeptIndex | undefined, value: string): LastChange {
    const name = index?.name ?? namespaceIndex;
    const floor = index?.floor ?? 0;
    const revision = this.#young.get(kind, name, value) ?? this.#old.get(kind, name, value);
    if (revision !== undefined && revision >= floor) return { revision, exact: true };
    return { revision: Math.max(revision ?? this.#valueFloor, floor), exact: false };
  }

  #noteValue(kind: string, index: string, value: string, revision: number): void {
    const young = this.#young;
    young.set(kind, index, value, revision);
    const full = young.size >= this.#valuesMax / 2 || young.characters >= this.#charactersMax / 2;
    if (!full) return;
    this.#valueFloor = this.#oldEnd;
    this.#oldEnd = revision;
    this.#old = young;
    this.#young = new Generation();
  }
}

function difference(
  before: readonly string[],
  after: readonly string[],
): readonly (readonly string[])[] {
  return [
    before.filter((value) => !after.includes(value)),
    after.filter((value) => !before.includes(value)),
  ];
}
