import { type ApiObject, defineKind } from 'kedge';
import type { ApiClient, ResourceClient } from 'kedge/client';
import type {
  Configmap,
  Event,
  Instance,
  Namespace,
  Node,
  Policy,
  Registry,
  Secret,
  Service,
  Snapshot,
  StorageClass,
  Token,
  User,
  Volume,
} from '../index.js';

/** A generated message as an object of the library: metadata is there once it is stored. */
export type Stored<T> = Omit<T, 'metadata'> & Pick<ApiObject, 'metadata'>;

/** Kinds by plural: message, kind name and scope. A test holds it to the descriptors. */
interface Kinds {
  readonly configmaps: Configmap;
  readonly events: Event;
  readonly instances: Instance;
  readonly namespaces: Namespace;
  readonly nodes: Node;
  readonly policies: Policy;
  readonly registries: Registry;
  readonly secrets: Secret;
  readonly services: Service;
  readonly snapshots: Snapshot;
  readonly storageclasses: StorageClass;
  readonly tokens: Token;
  readonly users: User;
  readonly volumes: Volume;
}

/** Kinds that belong to no namespace. */
const cluster = [
  'namespaces',
  'nodes',
  'policies',
  'registries',
  'storageclasses',
  'tokens',
  'users',
];

const kindNames: Readonly<Record<keyof Kinds, string>> = {
  configmaps: 'Configmap',
  events: 'Event',
  instances: 'Instance',
  namespaces: 'Namespace',
  nodes: 'Node',
  policies: 'Policy',
  registries: 'Registry',
  secrets: 'Secret',
  services: 'Service',
  snapshots: 'Snapshot',
  storageclasses: 'StorageClass',
  tokens: 'Token',
  users: 'User',
  volumes: 'Volume',
};

/** A client for the objects of every kind. */
export type TypedResources = {
  readonly [K in keyof Kinds]: ResourceClient<Stored<Kinds[K]>>;
};

/** Clients for the objects of all kinds over a client. */
export function typedResources(api: ApiClient): TypedResources {
  const entries = Object.entries(kindNames).map(([plural, kind]) => {
    const scope = cluster.includes(plural) ? ('Cluster' as const) : ('Namespaced' as const);
    return [plural, api.resource(defineKind<ApiObject>({ kind, plural, scope, statusFields: [] }))];
  });
  return Object.fromEntries(entries) as TypedResources;
}
