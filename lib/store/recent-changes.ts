import { limits } from '../base/index.js';
import type { IndexedChange, KeptIndex } from './kept-indexes.js';
import { namespaceIndex } from '../object/index.js';

/** What a write touched, for checks of a kind. */
export interface Touch {
  readonly kind: string;
  readonly namespace: string | undefined;
  /** Nothing but status changed. */
  readonly statusOnly: boolean;
  readonly indexed: readonly IndexedChange[];
}

/** How long ago something changed for the last time. */
export interface LastChange {
  readonly revision: number;
  /** False: it changed at `revision` or before, and when is not known. */
  readonly exact: boolean;
}

function idOf(kind: string, index: string, value: string): string {
  return `${kind}\0${index}\0${value}`;
}

/**
 * The last change of each kind, and of each index value that changed lately. Status counts only where it
 * moves an object between values.
 *
 * Memory is bounded: of index values two generations are kept. When the younger one is full the older
 * one is dropped as a whole, so a write costs constant time; what it held counts as changed at the end
 * of that generation.
 */
export class RecentChanges {
  readonly #kinds = new Map<string, number>();
  #young = new Map<string, number>();
  #old = new Map<string, number>();
  #youngCharacters = 0;
  #kindFloor: number;
  /** No value that is in neither generation changed after this revision. */
  #valueFloor: number;
  /** The last revision of the older generation. */
  #oldEnd: number;
  readonly #valuesMax: number;
  readonly #charactersMax: number;

  /** @param revision the last one whose changes are not known */
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

  /** Values that are remembered. */
  get size(): number {
    return this.#young.size + this.#old.size;
  }

  /** Forgets everything: some of what was noted may not have happened. */
  reset(revision: number): void {
    this.#kinds.clear();
    this.#young.clear();
    this.#old.clear();
    this.#youngCharacters = 0;
    this.#kindFloor = revision;
    this.#valueFloor = revision;
    this.#oldEnd = revision;
  }

  note({ kind, namespace, statusOnly, indexed }: Touch, revision: number): void {
    if (!statusOnly) {
      this.#kinds.set(kind, revision);
      if (namespace !== undefined) this.#noteValue(idOf(kind, namespaceIndex, namespace), revision);
    }
    for (const { index, before, after } of indexed) {
      // Unknown values may be any: all of the index count as changed.
      if (!before || !after) index.floor = revision;
      const moved = statusOnly
        ? difference(before ?? [], after ?? [])
        : [before ?? [], after ?? []];
      for (const values of moved)
        for (const value of values) this.#noteValue(idOf(kind, index.name, value), revision);
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
    const id = idOf(kind, index?.name ?? namespaceIndex, value);
    const floor = index?.floor ?? 0;
    const revision = this.#young.get(id) ?? this.#old.get(id);
    if (revision !== undefined && revision >= floor) return { revision, exact: true };
    return { revision: Math.max(revision ?? this.#valueFloor, floor), exact: false };
  }

  #noteValue(id: string, revision: number): void {
    const size = this.#young.size;
    this.#young.set(id, revision);
    if (this.#young.size === size) return;
    this.#youngCharacters += id.length;
    const full =
      this.#young.size >= this.#valuesMax / 2 || this.#youngCharacters >= this.#charactersMax / 2;
    if (!full) return;
    this.#valueFloor = this.#oldEnd;
    this.#oldEnd = revision;
    this.#old = this.#young;
    this.#young = new Map();
    this.#youngCharacters = 0;
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
