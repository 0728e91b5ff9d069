import type { Condition } from '../fields/conditions.js';
import type { ApiObject, ObjectKey, OwnerReference, Scope } from './object.js';
import type { Completion } from '../fields/completion.js';
import type { Fields } from '../fields/field.js';
import type { StateMachine } from './state-machine.js';

/** A column of a table. A `wide` column shows only with `-o wide`. */
export interface Column<T> {
  readonly header: string;
  value(object: T): string | number | boolean | undefined;
  readonly wide?: boolean;
}

/** Only the type of its member is used: a method's parameters are compared bivariantly. */
interface IndexMember<T> {
  index(object: T): readonly string[];
}

/**
 * Returns the values of an object in one index. An object without values is not in the index; one with several is
 * under each.
 */
export type IndexFunction<T> = IndexMember<T>['index'];

/** The input of a kind: everything that differs between kinds, as data. */
export interface KindInit<
  T extends ApiObject,
  S extends keyof T & string = keyof T & string,
  I extends string = string,
  N extends Scope = Scope,
> {
  /** Singular, PascalCase. */
  readonly kind: string;
  /** Lower-case plural: path segment, RBAC resource and CLI name. */
  readonly plural: string;
  /** Other names that the CLI accepts. */
  readonly shortNames?: readonly string[];
  readonly scope: N;
  /** Fields that only controllers write, through the status path. */
  readonly statusFields: readonly S[];
  /** Fields that can't change after the creation; dots reach into nested objects. */
  readonly immutableFields?: readonly string[];
  /** Status of a new object. */
  readonly initialStatus?: Partial<T>;
  /**
   * Indexes that the store and every informer of the kind keep. Index functions must be pure functions of the object,
   * and return at most `limits.indexValuesMax` values; a write for which one throws is refused, unless it throws for
   * the stored object too. The name `namespace` is reserved: the store has this index for every namespaced kind.
   */
  readonly indexes?: Readonly<Record<I, IndexFunction<T>>>;
  /** The allowed transitions of its state; the commit refuses all others. */
  readonly states?: StateMachine;
  readonly columns?: readonly Column<T>[];
  /**
   * Small records that deletions depend on, such as leases: they can be written to a nearly full disk, up to 16 KiB
   * each, while half of the floor (with a reserve: a quarter of the reserve) is free. Default false.
   */
  readonly takenWhenFull?: boolean;
  /**
   * Few objects that people change rarely (status excepted), such as classes: a transaction may check that no
   * object of the kind changed. Default false.
   */
  readonly rarelyWritten?: boolean;
  /**
   * Records about other objects, named by their keys: names may contain slashes, even if the kind is cluster-scoped,
   * and have up to `limits.keyNameCharactersMax` characters. Default false.
   */
  readonly namesHoldKeys?: boolean;
}

/** The fields of a declared kind, and the completion of absent ones. */
export interface KindDeclaration extends Completion {
  /** Fields that clients write. */
  readonly fields: Fields;
  readonly status: Fields;
}

/**
 * The description of a resource. It is frozen; each kind has one value per process.
 *
 * It is covariant in all its parameters, so a `Kind<Lamp, 'lit', 'room'>` is a `Kind<Lamp>`, which is a `Kind`:
 * functions over any kind accept `Kind`, registries hold it. Columns and indexes must therefore only get objects of
 * their own kind.
 *
 * @typeParam S names of the status fields; `string` if they are unknown
 * @typeParam I names of the indexes; `string` if they are unknown
 * @typeParam C input of a creation without metadata; `unknown` if it is the object type
 * @typeParam N its scope, if known: a creation then must have, or must not have, a namespace
 */
export interface Kind<
  T extends ApiObject = ApiObject,
  S extends string = string,
  I extends string = string,
  N extends Scope = Scope,
  C = unknown,
> {
  /** Singular, PascalCase. */
  readonly kind: string;
  /** Lower-case plural: path segment, RBAC resource and CLI name. */
  readonly plural: string;
  /** Other names that the CLI accepts. */
  readonly shortNames: readonly string[];
  readonly scope: N;
  /** Fields that only controllers write, through the status path. */
  readonly statusFields: readonly S[];
  /** Fields that can't change after the creation; dots reach into nested objects. */
  readonly immutableFields: readonly string[];
  /** Status of a new object. */
  readonly initialStatus: Partial<T>;
  readonly columns: readonly Column<T>[];
  readonly indexes: Readonly<Partial<Record<string, IndexFunction<T>>>>;
  readonly states: StateMachine | undefined;
  /** See {@link KindInit.takenWhenFull}. */
  readonly takenWhenFull: boolean;
  /** See {@link KindInit.rarelyWritten}. */
  readonly rarelyWritten: boolean;
  /** See {@link KindInit.namesHoldKeys}. */
  readonly namesHoldKeys: boolean;
  /** Its declared fields, if any: see `declareKind`. */
  readonly declaration: KindDeclaration | undefined;
  /** Carries the object type; never set. */
  readonly _type?: T;
  /** Carries the names of the indexes; never set. */
  readonly _indexes?: I;
  /**
   * Carries the names of all fields at the type level, so that a function can require a kind with some of them;
   * never set.
   */
  readonly _fields?: (field: keyof T) => void;
  /** Carries the type of creations without metadata; never set. */
  readonly _new?: C;
}

/** A kind whose objects have a field `conditions`. The type does not require it to be a status field. */
export type KindWithConditions = Kind<
  ApiObject & { readonly conditions?: readonly Condition[] }
> & {
  readonly _fields?: (field: 'conditions') => void;
};

/** The object type of a kind. */
export type ObjectOf<K> = K extends Kind<infer T> ? T : never;

/** The status fields of a type: those that `S` names. */
export type StatusFields<T, S extends string = string> = Pick<
  T,
  S & Exclude<keyof T, keyof ApiObject>
>;

/** A change of some status fields. */
export type StatusUpdate<T, S extends string = string> = Partial<StatusFields<T, S>> & {
  readonly [F in Exclude<keyof T, keyof StatusFields<T, S>>]?: never;
};

/** The status fields of a kind, as an object type. */
export type StatusOf<K> = K extends Kind<infer T, infer S> ? StatusFields<T, S> : never;

/** The names of a kind's indexes. */
export type IndexOf<K> = K extends Kind<ApiObject, string, infer I> ? I : never;

/** Any kind, with its object type erased, for registries and tables. */
export type AnyKind = Kind;

/** The key of an object of `kind`; the namespace is dropped for cluster-scoped kinds. */
export function keyFor(kind: AnyKind, namespace: string | undefined, name: string): ObjectKey {
  return kind.scope === 'Cluster' || namespace === undefined ? { name } : { namespace, name };
}

/** An owner reference to `owner`, which is an object of `kind`. */
export function ownerReference<T extends ApiObject>(
  kind: Kind<T>,
  owner: NoInfer<T>,
): OwnerReference {
  return { kind: kind.kind, name: owner.name, uid: owner.metadata.uid };
}
