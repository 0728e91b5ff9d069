import type { KindObjects } from '@kedge/api/kinds';
import type { CredentialsByDriver } from '@kedge/driver-sdk/parameters';

/** Kinds that explanations read, with the list of a {@link World} that holds their objects. */
export const readKinds = {
  Service: 'services',
  Instance: 'instances',
  Volume: 'volumes',
  Snapshot: 'snapshots',
  StorageClass: 'storageClasses',
  Node: 'nodes',
} as const satisfies { readonly [K in keyof KindObjects]?: string };

/** A kind that explanations read. */
export type ReadKind = keyof typeof readKinds;

/** The objects of each kind. */
type Lists = {
  readonly [K in ReadKind as (typeof readKinds)[K]]: readonly KindObjects[K][];
};

/** The objects of causes and remedies, as far as the caller has read them. */
export type World = Lists & {
  /** Storage classes that objects name and that do not exist. A class that could not be read is in neither list. */
  readonly absentClasses?: readonly string[];
  /** Namespaces that objects name and that do not exist. */
  readonly absentNamespaces?: readonly string[];
  /** The credentials of drivers, as far as they are known. */
  readonly credentials: CredentialsByDriver;
};

/** A world without any objects. */
export const emptyWorld: World = {
  ...(Object.fromEntries(Object.values(readKinds).map((list) => [list, []])) as unknown as Lists),
  credentials: new Map(),
};

/** Kinds with explanations. */
export const explainedKinds = [
  'Service',
  'Instance',
  'Volume',
  'Snapshot',
  'Node',
  'Namespace',
] as const satisfies readonly (keyof KindObjects)[];

/** A kind with explanations. */
export type SubjectKind = (typeof explainedKinds)[number];

/** The subjects of all kinds, by kind. */
type Subjects = {
  readonly [K in SubjectKind]: { readonly kind: K; readonly object: KindObjects[K] };
};

/** The subject of one kind. */
export type SubjectOf<K extends SubjectKind> = Subjects[K];

/** The subject of an explanation. */
export type Subject = SubjectOf<SubjectKind>;

/** The inputs of a remedy: the object, its status, and its dependencies. */
export type About<K extends SubjectKind = SubjectKind> = SubjectOf<K> & {
  /** The message of the condition, the failure or the driver. */
  readonly message: string;
  readonly world: World;
};

/**
 * An object of a list by `<namespace>/<name>`, or by name for a kind without namespaces; undefined if it is not in the
 * list.
 */
export function findByKey<T extends { readonly name: string; readonly namespace?: string }>(
  list: readonly T[],
  key: string,
): T | undefined {
  return list.find(({ namespace, name }) => (namespace ? `${namespace}/${name}` : name) === key);
}

/** `Volume default/data` */
export function labelOfSubject({ kind, object }: Subject): string {
  const namespace = 'namespace' in object ? object.namespace : undefined;
  return `${kind} ${namespace ? `${namespace}/` : ''}${object.name}`;
}
