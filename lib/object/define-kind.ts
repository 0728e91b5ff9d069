import type { Kind, KindDeclaration, KindInit } from './kind.js';
import type { ApiObject, Scope } from './object.js';

/** The index that every namespaced kind has by itself: the namespace of the object. */
export const namespaceIndex = 'namespace';

/** A kind with its defaults, frozen. @throws TypeError for an index with a name that is taken */
export function freezeKind<
  T extends ApiObject,
  S extends keyof T & string,
  I extends string,
  N extends Scope,
  C,
>(init: KindInit<T, S, I, N>, declaration: KindDeclaration | undefined): Kind<T, S, I, N, C> {
  if (init.indexes && namespaceIndex in init.indexes)
    throw new TypeError(
      `${init.kind}.indexes.${namespaceIndex}: the store keeps an index of this name for every namespaced kind; choose another name`,
    );
  return Object.freeze({
    shortNames: [],
    immutableFields: [],
    initialStatus: {},
    columns: [],
    takenWhenFull: false,
    rarelyWritten: false,
    indexes: {},
    states: undefined,
    ...init,
    declaration,
  });
}

/**
 * Declares a kind.
 *
 * @example
 * interface Lamp extends ApiObject { readonly on: boolean; readonly lit?: boolean }
 * const lamps = defineKind<Lamp>({ kind: 'Lamp', plural: 'lamps', scope: 'Namespaced', statusFields: ['lit'] });
 */
export function defineKind<T extends ApiObject>(
  init: KindInit<T> & { readonly scope: 'Namespaced' },
): Kind<T, keyof T & string, string, 'Namespaced'>;
export function defineKind<T extends ApiObject>(
  init: KindInit<T> & { readonly scope: 'Cluster' },
): Kind<T, keyof T & string, string, 'Cluster'>;
export function defineKind<T extends ApiObject>(init: KindInit<T>): Kind<T>;
export function defineKind<T extends ApiObject>(init: KindInit<T>): Kind<T> {
  return freezeKind(init, undefined);
}

/**
 * As {@link defineKind}, and the types know more: which fields are status, which indexes there are.
 *
 * @example
 * const lamps = kindOf<Lamp>()({
 *   kind: 'Lamp', plural: 'lamps', scope: 'Namespaced', statusFields: ['lit'],
 *   indexes: { room: (lamp) => [lamp.room] },
 * });
 * await store.updateStatus(lamps, key, { on: true }); // does not compile: `on` is not status
 */
export function kindOf<T extends ApiObject>(): <
  const S extends keyof T & string,
  const N extends Scope,
  const I extends string = never,
>(
  init: KindInit<T, S, I, N>,
) => Kind<T, S, I, N> {
  return (init) => freezeKind(init, undefined);
}
