import type { Condition } from '../fields/conditions.js';
import type { ApiObject, ObjectKey, OwnerReference, Scope } from './object.js';
import type { Completion } from '../fields/completion.js';
import type { Fields } from '../fields/field.js';
import type { StateMachine } from './state-machine.js';

/** A column of a table: `wide` ones show with `-o wide` only. */
export interface Column<T> {
  readonly header: string;
  value(object: T): string | number | boolean | undefined;
  readonly wide?: boolean;
}

/** Only the type of its member is used: a method's parameters are compared bivariantly. */
interface IndexMember<T> {
  index(object: T): readonly string[];
}

/** The values an object is found under in one index; none hides it, many list it under each. */
export type IndexFunction<T> = IndexMember<T>['index'];

/** What a kind declares; everything that differs between kinds stands here as data. */
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
  /** Other names the CLI accepts. */
  readonly shortNames?: readonly string[];
  readonly scope: N;
  /** Fields that only controllers write, through the status path. */
  readonly statusFields: readonly S[];
  /** Fields fixed at creation; dots reach into nested objects. */
  readonly immutableFields?: readonly string[];
  /** Status of an object just created. */
  readonly initialStatus?: Partial<T>;
  /**
   * Indexes that every informer of the kind keeps, and the store. Pure functions of the object, with at
   * most `limits.indexValuesMax` values; a write for which one throws is refused. `namespace` is taken:
   * the store finds objects by it without a function.
   */
  readonly indexes?: Readonly<Record<I, IndexFunction<T>>>;
  /** The moves its state may make; every other is refused at commit, on every path. */
  readonly states?: StateMachine;
  readonly columns?: readonly Column<T>[];
  /**
   * Small records that deletions depend on, such as leases: on a nearly full disk they are still
   * written, up to 16 KiB each, as long as half of the reserve is left. Default false.
   */
  readonly takenWhenFull?: boolean;
  /**
   * Few objects, changed by people now and then (status apart), such as classes: a transaction may check
   * that none of the kind changed at all. Default false.
   */
  readonly rarelyWritten?: boolean;
  /**
   * Records about other objects, named by their keys: names may hold slashes, also of a cluster-scoped kind, and
   * up to `limits.keyNameCharactersMax` characters. Default false.
   */
  readonly namesHoldKeys?: boolean;
}

/** The fields of a declared kind, and how objects are filled in where they are left out. */
export interface KindDeclaration extends Completion {
  /** Fields that clients write. */
  readonly fields: Fields;
  readonly status: Fields;
}

/**
 * The one place that describes a resource. Frozen; one value per kind and process.
 *
 * It is covariant in all its parameters, so a `Kind<Lamp, 'lit', 'room'>` is a `Kind<Lamp>`, which
 * is a `Kind`: functions over any kind take `Kind`, registries hold it. What looks at objects
 * (columns, indexes) is therefore given objects of the kind it was taken from only.
 *
 * @typeParam S names of the status fields; `string` where they are not known
 * @typeParam I names of the indexes; `string` where they are not known
 * @typeParam C what a creator gives, but for metadata; `unknown` where that is the object type
 * @typeParam N its scope, where that is known: then a creation must give, or leave out, a namespace
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
  /** Other names the CLI accepts. */
  readonly shortNames: readonly string[];
  readonly scope: N;
  /** Fields that only controllers write, through the status path. */
  readonly statusFields: readonly S[];
  /** Fields fixed at creation; dots reach into nested objects. */
  readonly immutableFields: readonly string[];
  /** Status of an object just created. */
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
  /** Its fields, where they are declared: see `declareKind`. */
  readonly declaration: KindDeclaration | undefined;
  /** Carries the object's type; never set. */
  readonly _type?: T;
  /** Carries the names of the indexes; never set. */
  readonly _indexes?: I;
  /** Carries the names of all fields, so that a function can ask for a kind that has some; never set. */
  readonly _fields?: (field: keyof T) => void;
  /** Carries what a creator gives, but for metadata; never set. */
  readonly _new?: C;
}

/** A kind with a field `conditions` in its status. */
export type KindWithConditions = Kind<
  ApiObject & { readonly conditions?: readonly Condition[] }
> & {
  readonly _fields?: (field: 'conditions') => void;
};

/** The object type of a kind. */
export type ObjectOf<K> = K extends Kind<infer T> ? T : never;

/** Fields of a type that are status, where `S` names those that are known to be. */
export type StatusFields<T, S extends string = string> = Pick<
  T,
  S & Exclude<keyof T, keyof ApiObject>
>;

/** A change of status fields: some of them, and nothing else of the object. */
export type StatusUpdate<T, S extends string = string> = Partial<StatusFields<T, S>> & {
  readonly [F in Exclude<keyof T, keyof StatusFields<T, S>>]?: never;
};

/** The status fields of a kind, as an object type. */
export type StatusOf<K> = K extends Kind<infer T, infer S> ? StatusFields<T, S> : never;

/** The names of a kind's indexes. */
export type IndexOf<K> = K extends Kind<ApiObject, string, infer I> ? I : never;

/** Any kind, its object type forgotten: for registries and tables. */
export type AnyKind = Kind;

/** The key that addresses an object of `kind`; the namespace is dropped for cluster-scoped kinds. */
export function keyFor(kind: AnyKind, namespace: string | undefined, name: string): ObjectKey {
  return kind.scope === 'Cluster' || namespace === undefined ? { name } : { namespace, name };
}

/** An owner reference to `owner`, an object of `kind`. */
export function ownerReference<T extends ApiObject>(
  kind: Kind<T>,
  owner: NoInfer<T>,
): OwnerReference {
  return { kind: kind.kind, name: owner.name, uid: owner.metadata.uid };
}
