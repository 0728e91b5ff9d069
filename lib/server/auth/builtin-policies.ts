import { hasCode } from '../../base/index.js';
import type { ObjectStore } from '../../store/index.js';
import { policies, type PolicyRule } from './kinds.js';

const all = ['*'];
const read = ['get', 'list', 'watch'];

/** Policies every installation has (design.md section 6). Their content belongs to the release. */
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
        verbs: [...read, 'create', 'update', 'delete', 'scale', 'exec'],
        namespaces: all,
      },
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
    description: 'What the agent of a node needs',
    rules: [
      { resources: ['nodes', 'instances', 'volumes', 'services'], verbs: read, namespaces: all },
      {
        resources: ['nodes/status', 'instances/status', 'volumes/status'],
        verbs: ['update'],
        namespaces: all,
      },
    ],
  },
};

/** Writes the built-in policies that are missing. Idempotent. */
export async function seedPolicies(store: ObjectStore): Promise<void> {
  for (const [name, { description, rules }] of Object.entries(builtinPolicies)) {
    try {
      await store.create(policies, { name, description, rules, builtin: true });
    } catch (error) {
      if (!hasCode(error, 'AlreadyExists')) throw error;
    }
  }
}
