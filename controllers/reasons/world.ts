import type {
  Instance,
  Namespace,
  Node,
  Service,
  Snapshot,
  StorageClass,
  Volume,
} from '@kedge/api/kinds';

/** The objects of causes and remedies, as far as the caller has read them. */
export interface World {
  readonly services: readonly Service[];
  readonly instances: readonly Instance[];
  readonly volumes: readonly Volume[];
  readonly snapshots: readonly Snapshot[];
  readonly storageClasses: readonly StorageClass[];
  readonly nodes: readonly Node[];
}

/** A world without any objects. */
export const emptyWorld: World = {
  services: [],
  instances: [],
  volumes: [],
  snapshots: [],
  storageClasses: [],
  nodes: [],
};

/** The subject of an explanation. */
export type Subject =
  | { readonly kind: 'Service'; readonly object: Service }
  | { readonly kind: 'Instance'; readonly object: Instance }
  | { readonly kind: 'Volume'; readonly object: Volume }
  | { readonly kind: 'Snapshot'; readonly object: Snapshot }
  | { readonly kind: 'Node'; readonly object: Node }
  | { readonly kind: 'Namespace'; readonly object: Namespace };

/** Kinds with explanations. */
export type SubjectKind = Subject['kind'];

/** The subject of one kind. */
export type SubjectOf<K extends SubjectKind> = Extract<Subject, { readonly kind: K }>;

/** The inputs of a remedy: the object, its status, and its dependencies. */
export type About<K extends SubjectKind = SubjectKind> = SubjectOf<K> & {
  /** The message of the condition, the failure or the driver. */
  readonly message: string;
  readonly world: World;
};

/** An object of a list by `<namespace>/<name>`, or by name for a kind without namespaces. */
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
