/**
 * An owner of an object. Once all owners of an object are deleted, the garbage collector deletes it (background
 * cascade), if it collects the kinds of both.
 */
export interface OwnerReference {
  readonly kind: string;
  readonly name: string;
  readonly uid: string;
}

/** The metadata that the store maintains for every object. Times are RFC 3339, UTC. */
export interface ObjectMeta {
  /** Never reused: an object that is recreated with the same name has another uid. */
  readonly uid: string;
  /** The revision of the last write of the object. Opaque: compare it for equality only. */
  readonly resourceVersion: string;
  /**
   * Starts at 1. Each write that changes a field outside of status and metadata increments it; labels count as such
   * a field. So does a deletion request for an object with finalizers. Writes of status, annotations, finalizers,
   * owner references or the expiry do not change it.
   */
  readonly generation: number;
  readonly createdAt: string;
  readonly updatedAt: string;
  /** Time of the deletion request. Absent before it; an object without finalizers is removed at the request. */
  readonly deletionRequestedAt?: string;
  /** The time from which the store deletes the object, as a client would: finalizers delay its removal. */
  readonly expiresAt?: string;
  /** While an object has finalizers, its deletion only marks it. */
  readonly finalizers?: readonly string[];
  readonly ownerReferences?: readonly OwnerReference[];
  readonly annotations?: Readonly<Record<string, string>>;
}

/** The shape of every object, in store, cache, on the wire and in YAML. */
export interface ApiObject {
  readonly name: string;
  readonly namespace?: string;
  readonly labels?: Readonly<Record<string, string>>;
  readonly metadata: ObjectMeta;
}

/** Name of an object within its kind. `namespace` is absent for cluster-scoped kinds. */
export interface ObjectKey {
  readonly namespace?: string;
  readonly name: string;
}

/** Whether objects of a kind belong to a namespace. */
export type Scope = 'Namespaced' | 'Cluster';

/** Requires a namespace of a new object of a namespaced kind. */
export type InScope<N extends Scope> = [N] extends ['Namespaced']
  ? { readonly namespace: string }
  : unknown;

/** The input of a creation without metadata: `C` if the kind declares it. */
export type NewFields<T, C> = unknown extends C ? Omit<T, 'metadata'> : C;

/** The input of a creation: the object without the fields that the store sets. */
export type NewObject<T extends ApiObject, N extends Scope = Scope, C = unknown> = NewFields<T, C> &
  InScope<N> & {
    readonly metadata?: Partial<
      Pick<ObjectMeta, 'finalizers' | 'ownerReferences' | 'annotations' | 'expiresAt'>
    >;
  };

/** The fields of an object by name, for code that uses the declaration of a kind. */
export function fieldsOf(object: object): Readonly<Record<string, unknown>> {
  return object as Readonly<Record<string, unknown>>;
}

/** Casts fields to the object type of the caller's kind. It checks nothing. */
export function asObject<T extends ApiObject = ApiObject>(fields: object): T {
  return fields as T;
}

/** The key of an object. */
export function keyOf(object: { readonly name: string; readonly namespace?: string }): ObjectKey {
  return object.namespace === undefined
    ? { name: object.name }
    : { namespace: object.namespace, name: object.name };
}

/** The namespace of an object or key of a namespaced kind. @throws TypeError for an object of a cluster-scoped kind */
export function namespaceOf({ namespace, name }: ObjectKey): string {
  if (namespace !== undefined && namespace !== '') return namespace;
  throw new TypeError(`"${name}" has no namespace: its kind is cluster-scoped`);
}

/**
 * `namespace/name`, or `name` for a cluster-scoped object. A namespace never contains a slash. The name of a
 * cluster-scoped object does so only if its kind has `namesHoldKeys`: {@link parseKey} reads the part before the
 * slash as a namespace.
 */
export function keyString(key: ObjectKey): string {
  return key.namespace === undefined ? key.name : `${key.namespace}/${key.name}`;
}

/** The inverse of {@link keyString}. */
export function parseKey(text: string): ObjectKey {
  const slash = text.indexOf('/');
  return slash < 0
    ? { name: text }
    : { namespace: text.slice(0, slash), name: text.slice(slash + 1) };
}

/** True if deletion was requested. */
export function isDeleting(object: {
  readonly metadata: Pick<ObjectMeta, 'deletionRequestedAt'>;
}): boolean {
  return object.metadata.deletionRequestedAt !== undefined;
}
