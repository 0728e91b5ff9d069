import type { ApiObject, ObjectKey } from './object.js';
import type { StateMachine } from './state-machine.js';

/** A column of a table: `wide` ones show with `-o wide` only. */
export interface Column<T> {
  readonly header: string;
  readonly value: (object: T) => string | number | boolean | undefined;
  readonly wide?: boolean;
}

/** The values an object is found under in one index; none hides it, many list it under each. */
export type IndexFunction<T> = (object: T) => readonly string[];

/** What a kind declares; everything that differs between kinds stands here as data. */
export interface KindInit<
  T extends ApiObject,
  S extends keyof T & string = keyof T & string,
  I extends string = string,
> {
  /** Singular, PascalCase. */
  readonly kind: string;
  /** Lower-case plural: path segment, RBAC resource and CLI name. */
  readonly plural: string;
  /** Other names the CLI accepts. */
  readonly shortNames?: readonly string[];
  readonly scope: 'Namespaced' | 'Cluster';
  /** Fields that only controllers write, through the status path. */
  readonly statusFields: readonly S[];
  /** Fields fixed at creation; dots reach into nested objects. */
  readonly immutableFields?: readonly string[];
  /** Status of an object just created. */
  readonly initialStatus?: Partial<T>;
  /** Indexes that every informer of the kind keeps. */
  readonly indexes?: Readonly<Record<I, IndexFunction<T>>>;
  /** The moves its state may make; every other is refused at commit, on every path. */
  readonly states?: StateMachine;
  readonly columns?: readonly Column<T>[];
}

/** The one place that describes a resource. Frozen; compare by `kind`. */
export interface Kind<
  T extends ApiObject = ApiObject,
  S extends keyof T & string = keyof T & string,
  I extends string = string,
> extends Required<Omit<KindInit<T, S, I>, 'columns' | 'indexes' | 'states'>> {
  readonly columns: readonly Column<T>[];
  readonly indexes: Readonly<Partial<Record<string, IndexFunction<T>>>>;
  readonly states: StateMachine | undefined;
  /** Carries the object's type; never set. */
  readonly _type?: T;
  /** Carries the names of the indexes; never set. */
  readonly _indexes?: I;
}

/** The object type of a kind. */
export type ObjectOf<K> = K extends Kind<infer T, infer _S, infer _I> ? T : never;

/** The status fields of a kind, as an object type. */
export type StatusOf<K> = K extends Kind<infer T, infer S, infer _I> ? Pick<T, S> : never;

/** The names of a kind's indexes. */
export type IndexOf<K> = K extends Kind<infer _T, infer _S, infer I> ? I : never;

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
    indexes: {},
    states: undefined,
    ...init,
  });
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
  const I extends string = never,
>(
  init: KindInit<T, S, I>,
) => Kind<T, S, I> {
  return <S extends keyof T & string, I extends string>(init: KindInit<T, S, I>) =>
    defineKind<T>(init) as unknown as Kind<T, S, I>;
}

/** Any kind, its object type forgotten: for registries and tables. */
// Columns and indexes take T in a parameter position, so Kind<T> is not assignable to
// Kind<ApiObject>: erased here, once.
export type AnyKind = Omit<
  Kind,
  'statusFields' | 'columns' | 'initialStatus' | 'indexes' | '_type' | '_indexes'
> & {
  readonly statusFields: readonly string[];
  readonly initialStatus: object;
  readonly columns: readonly Column<never>[];
  readonly indexes: Readonly<Partial<Record<string, IndexFunction<never>>>>;
};

/** The key that addresses an object of `kind`; the namespace is dropped for cluster-scoped kinds. */
export function keyFor(kind: AnyKind, namespace: string | undefined, name: string): ObjectKey {
  return kind.scope === 'Cluster' || namespace === undefined ? { name } : { namespace, name };
}
