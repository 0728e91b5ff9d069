import { checkKind } from './kind-checks.js';
import type { Kind, KindDeclaration, KindInit } from './kind.js';
import type { ApiObject, Scope } from './object.js';

/** The built-in index of every namespaced kind: the namespace of the object. */
export const namespaceIndex = 'namespace';

/** The initial status of an object: the initial state, and the initial status of the kind. */
function begin({ states, initialStatus }: KindInit<ApiObject>): object {
  return { ...(states ? { [states.field]: states.initial } : {}), ...initialStatus };
}

/**
 * Completes a kind with defaults and freezes it.
 * @throws TypeError that names the property, its value and the remedy, for an invalid kind
 */
export function freezeKind<
  T extends ApiObject,
  S extends keyof T & string,
  I extends string,
  N extends Scope,
  C,
>(init: KindInit<T, S, I, N>, declaration: KindDeclaration | undefined): Kind<T, S, I, N, C> {
  checkKind(init as unknown as KindInit<T>);
  if (init.indexes && namespaceIndex in init.indexes)
    throw new TypeError(
      `${init.kind}.indexes.${namespaceIndex}: the store keeps an index of this name for every namespaced kind; choose another name`,
    );
  return Object.freeze({
    shortNames: [],
    immutableFields: [],
    columns: [],
    takenWhenFull: false,
    rarelyWritten: false,
    namesHoldKeys: false,
    indexes: {},
    states: undefined,
    ...init,
    initialStatus: begin(init as unknown as KindInit<ApiObject>),
    declaration,
  });
}

/**
 * Declares a kind.
 *
 * @throws TypeError that names the property, its value and the remedy: an invalid name, a scope other than
 * `Namespaced` and `Cluster`, a field listed twice, an initial status or states of a field that is not status, a
 * transition to an unknown state
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
 * Like {@link defineKind}, with more precise types: the names of status fields and indexes.
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
