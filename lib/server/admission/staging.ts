import {
  type AnyKind,
  type ApiObject,
  keyString,
  namespaceIndex,
  type ObjectKey,
} from '../../object/index.js';

/**
 * The values of an object in an index of its kind, or in the index `namespace`. Passes on errors of the index function.
 */
export function indexValues(kind: AnyKind, index: string, object: ApiObject): readonly string[] {
  if (index === namespaceIndex) return object.namespace === undefined ? [] : [object.namespace];
  return kind.indexes[index]?.(object) ?? [];
}

const none: ReadonlySet<string> = new Set();

/** The staged objects of a kind by the values of one index; built at the first look-up by this index. */
class StagedIndex {
  readonly #valuesOf: (object: ApiObject) => readonly string[];
  readonly #values = new Map<string, readonly string[]>();
  readonly #keys = new Map<string, Set<string>>();

  constructor(kind: AnyKind, index: string, objects: ReadonlyMap<string, ApiObject | undefined>) {
    this.#valuesOf = (object) => {
      try {
        return indexValues(kind, index, object);
      } catch {
        // The store refuses this object with an error that names the index.
        return [];
      }
    };
    for (const [key, object] of objects) this.set(key, object);
  }

  /** Keys of the objects under a value, in insertion order. */
  under(value: string): ReadonlySet<string> {
    return this.#keys.get(value) ?? none;
  }

  set(key: string, object: ApiObject | undefined): void {
    const before = this.#values.get(key) ?? [];
    const now = object ? this.#valuesOf(object) : [];
    for (const value of before) if (!now.includes(value)) this.#keys.get(value)?.delete(key);
    for (const value of now) {
      const keys = this.#keys.get(value);
      if (keys) keys.add(key);
      else this.#keys.set(value, new Set([key]));
    }
    this.#values.set(key, now);
  }
}

interface StagedKind {
  readonly objects: Map<string, ApiObject | undefined>;
  /** Made by the first look-up by an index. */
  indexes: Map<string, StagedIndex> | undefined;
}

/**
 * Objects after the writes of one set, in stored form; undefined for deleted ones. Later writes of the set are
 * validated against it.
 */
export class Staging {
  readonly #kinds = new Map<string, StagedKind>();

  has(kind: AnyKind, key: ObjectKey): boolean {
    return this.#kinds.get(kind.kind)?.objects.has(keyString(key)) === true;
  }

  get(kind: AnyKind, key: ObjectKey): ApiObject | undefined {
    return this.#kinds.get(kind.kind)?.objects.get(keyString(key));
  }

  set(kind: AnyKind, key: ObjectKey, object: ApiObject | undefined): void {
    let staged = this.#kinds.get(kind.kind);
    if (!staged) this.#kinds.set(kind.kind, (staged = { objects: new Map(), indexes: undefined }));
    const id = keyString(key);
    staged.objects.set(id, object);
    if (staged.indexes) for (const index of staged.indexes.values()) index.set(id, object);
  }

  /** All objects of a kind: the stored ones, with the staged writes, creations and deletions applied. */
  all(kind: AnyKind, stored: readonly ApiObject[]): readonly ApiObject[] {
    const staged = this.#kinds.get(kind.kind);
    return staged ? merged(staged.objects, stored, staged.objects.keys()) : stored;
  }

  /**
   * The objects under a value of an index after the staged writes; `stored` are those before. The cost does not depend
   * on the number of other staged objects, because a set of many writes makes one look-up for each.
   */
  under(
    kind: AnyKind,
    index: string,
    value: string,
    stored: readonly ApiObject[],
  ): readonly ApiObject[] {
    const staged = this.#kinds.get(kind.kind);
    if (!staged) return stored;
    const indexes = (staged.indexes ??= new Map<string, StagedIndex>());
    let known = indexes.get(index);
    if (!known) indexes.set(index, (known = new StagedIndex(kind, index, staged.objects)));
    const keys = known.under(value);
    const kept = stored.filter((object) => {
      const id = keyString(object);
      return !staged.objects.has(id) || keys.has(id);
    });
    return merged(staged.objects, kept, keys);
  }
}

function merged(
  staged: ReadonlyMap<string, ApiObject | undefined>,
  stored: readonly ApiObject[],
  keys: Iterable<string>,
): readonly ApiObject[] {
  const found = new Map(stored.map((object) => [keyString(object), object]));
  for (const key of keys) {
    const object = staged.get(key);
    if (object) found.set(key, object);
    else found.delete(key);
  }
  return [...found.values()];
}
