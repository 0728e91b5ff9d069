import type { ApiObject } from '../object/index.js';

/** The current objects by kind and key, with keys in order for lists. */
export class ObjectIndex {
  readonly #kinds = new Map<string, Map<string, ApiObject>>();
  /** Sorted keys by kind; dropped when a key comes or goes, made again by the next list. */
  readonly #sorted = new Map<string, readonly string[]>();

  get(kind: string, key: string): ApiObject | undefined {
    return this.#kinds.get(kind)?.get(key);
  }

  set(kind: string, key: string, object: ApiObject): void {
    let objects = this.#kinds.get(kind);
    if (!objects) {
      objects = new Map<string, ApiObject>();
      this.#kinds.set(kind, objects);
    }
    if (!objects.has(key)) this.#sorted.delete(kind);
    objects.set(key, object);
  }

  delete(kind: string, key: string): void {
    if (this.#kinds.get(kind)?.delete(key)) this.#sorted.delete(kind);
  }

  /** All objects of a kind in key order; `namespace` must match exactly. */
  list(kind: string, namespace?: string): ApiObject[] {
    const objects = this.#kinds.get(kind);
    if (!objects) return [];
    let keys = this.#sorted.get(kind);
    if (!keys) {
      keys = [...objects.keys()].sort();
      this.#sorted.set(kind, keys);
    }
    const found: ApiObject[] = [];
    for (const key of keys) {
      const object = objects.get(key);
      if (object && (namespace === undefined || object.namespace === namespace)) found.push(object);
    }
    return found;
  }

  /** Every kind's objects, in no order. */
  *all(): Iterable<readonly [kind: string, object: ApiObject]> {
    for (const [kind, objects] of this.#kinds) {
      for (const object of objects.values()) yield [kind, object];
    }
  }
}
