import { type AnyKind, type ApiObject, keyString, type ObjectKey } from '../../object/index.js';

/**
 * Objects after the writes of one set, in stored form; undefined for deleted ones. Later writes of the set are
 * validated against it.
 */
export class Staging {
  readonly #kinds = new Map<string, Map<string, ApiObject | undefined>>();

  has(kind: AnyKind, key: ObjectKey): boolean {
    return this.#kinds.get(kind.kind)?.has(keyString(key)) === true;
  }

  get(kind: AnyKind, key: ObjectKey): ApiObject | undefined {
    return this.#kinds.get(kind.kind)?.get(keyString(key));
  }

  set(kind: AnyKind, key: ObjectKey, object: ApiObject | undefined): void {
    const known = this.#kinds.get(kind.kind);
    if (known) known.set(keyString(key), object);
    else this.#kinds.set(kind.kind, new Map([[keyString(key), object]]));
  }

  /** `stored`, with what is staged in its place. @param matches which of the staged objects belong there */
  over(
    kind: AnyKind,
    stored: readonly ApiObject[],
    matches: (object: ApiObject) => boolean,
  ): readonly ApiObject[] {
    const staged = this.#kinds.get(kind.kind);
    if (!staged) return stored;
    const found = new Map(stored.map((object) => [keyString(object), object]));
    for (const [key, object] of staged) {
      if (object && matches(object)) found.set(key, object);
      else found.delete(key);
    }
    return [...found.values()];
  }
}
