import type { ApiObject, ObjectKey } from './object.js';

/** A column of a table: `wide` ones show with `-o wide` only. */
export interface Column<T> {
  readonly header: string;
  readonly value: (object: T) => string | number | boolean | undefined;
  readonly wide?: boolean;
}

/** What a kind declares; everything that differs between kinds stands here as data. */
export interface KindInit<T extends ApiObject> {
  /** Singular, PascalCase. */
  readonly kind: string;
  /** Lower-case plural: path segment, RBAC resource and CLI name. */
  readonly plural: string;
  /** Other names the CLI accepts. */
  readonly shortNames?: readonly string[];
  readonly scope: 'Namespaced' | 'Cluster';
  /** Fields that only controllers write, through the status path. */
  readonly statusFields: readonly (keyof T & string)[];
  /** Fields fixed at creation; dots reach into nested objects. */
  readonly immutableFields?: readonly string[];
  /** Status of an object just created. */
  readonly initialStatus?: Partial<T>;
  readonly columns?: readonly Column<T>[];
}

/** The one place that describes a resource. Frozen; compare by `kind`. */
export interface Kind<T extends ApiObject = ApiObject>
  extends Required<Omit<KindInit<T>, 'columns'>> {
  readonly columns: readonly Column<T>[];
  /** Carries the object's type; never set. */
  readonly _type?: T;
}

/** The object type of a kind. */
export type ObjectOf<K> = K extends Kind<infer T> ? T : never;

/**
 * Declares a kind.
 *
 * @example
 * interface Lamp extends ApiObject { readonly on: boolean; readonly lit?: boolean }
 * const lamps = defineKind<Lamp>({ kind: 'Lamp', plural: 'lamps', scope: 'Namespaced', statusFields: ['lit'] });
 */
export function defineKind<T extends ApiObject>(init: KindInit<T>): Kind<T> {
  return Object.freeze({
    shortNames: [],
    immutableFields: [],
    initialStatus: {},
    columns: [],
    ...init,
  });
}

/** Any kind, its object type forgotten: for registries and tables. */
// Columns take T in a parameter position, so Kind<T> is not assignable to Kind<ApiObject>: erased here, once.
export type AnyKind = Omit<Kind, 'statusFields' | 'columns' | 'initialStatus' | '_type'> & {
  readonly statusFields: readonly string[];
  readonly initialStatus: object;
  readonly columns: readonly Column<never>[];
};

/** The key that addresses an object of `kind`; the namespace is dropped for cluster-scoped kinds. */
export function keyFor(kind: AnyKind, namespace: string | undefined, name: string): ObjectKey {
  return kind.scope === 'Cluster' || namespace === undefined ? { name } : { namespace, name };
}
