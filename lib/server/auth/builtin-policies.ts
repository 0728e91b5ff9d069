import { hasCode } from '../../base/index.js';
import { jsonEqual } from '../../object/index.js';
import { modify, type ObjectStore } from '../../store/index.js';
import { policies, type PolicyRule } from './kinds.js';

const all = ['*'];
const read = ['get', 'list', 'watch'];

/** Policies every installation has. Their content belongs to the release. */
export const builtinPolicies: Readonly<
  Record<string, { readonly description: string; readonly rules: readonly PolicyRule[] }>
> = {
  root: {
    description: 'Everything',
    rules: [{ resources: all, verbs: all, namespaces: all }],
  },
  admin: {
    description: 'Everything but the values of secrets',
    rules: [
      {
        resources: all,
        verbs: [...read, 'create', 'update', 'delete', 'scale', 'exec'],
        namespaces: all,
      },
    ],
  },
  readwrite: {
    description: 'Read and write workloads and storage; read the rest of the cluster',
    rules: [
      {
        resources: ['services', 'instances', 'volumes', 'snapshots', 'secrets', 'configmaps'],
        verbs: [...read, 'create', 'update', 'delete', 'scale'],
        namespaces: all,
      },
      { resources: ['exec'], verbs: ['exec'], namespaces: all },
      {
        resources: ['namespaces', 'storageclasses', 'nodes', 'logs', 'events', 'health'],
        verbs: read,
        namespaces: all,
      },
    ],
  },
  readonly: {
    description: 'Read everything but tokens, users, policies and the values of secrets',
    rules: [
      {
        resources: [
          'namespaces',
          'storageclasses',
          'nodes',
          'services',
          'instances',
          'volumes',
          'snapshots',
          'secrets',
          'configmaps',
          'logs',
          'events',
          'health',
        ],
        verbs: read,
        namespaces: all,
      },
    ],
  },
  node: {
    description: 'What the agent of a node needs; narrowed to what belongs to its node',
    rules: [
      {
        resources: [
          'nodes',
          'instances',
          'volumes',
          'snapshots',
          'services',
          'configmaps',
          'storageclasses',
        ],
        verbs: read,
        namespaces: all,
      },
      { resources: ['secrets'], verbs: ['get', 'reveal'], namespaces: all },
      {
        resources: ['effectrecords'],
        verbs: ['get', 'create', 'update', 'delete'],
        namespaces: all,
      },
      { resources: ['nodes', 'events'], verbs: ['create', 'update'], namespaces: all },
      {
        resources: [
          'nodes/status',
          'instances/status',
          'instances/finalizers',
          'volumes/status',
          'snapshots/status',
        ],
        verbs: ['update'],
        namespaces: all,
      },
    ],
  },
};

/** Writes the built-in policies as this release has them. Idempotent. */
export async function seedPolicies(store: ObjectStore): Promise<void> {
  for (const [name, { description, rules }] of Object.entries(builtinPolicies)) {
    try {
      await store.create(policies, { name, description, rules, builtin: true });
    } catch (error) {
      if (!hasCode(error, 'AlreadyExists')) throw error;
      await modify(store, policies, { name }, (stored) =>
        jsonEqual([stored.description, stored.rules], [description, rules])
          ? undefined
          : { ...stored, description, rules },
      );
    }
  }
}
