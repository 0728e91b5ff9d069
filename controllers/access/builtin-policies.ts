import type { BuiltinPolicies } from 'kedge/server';

const all = ['*'];
const read = ['get', 'list', 'watch'];

/** Policies of every installation that name its kinds, beside those of the library. */
export const accessPolicies: BuiltinPolicies = {
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
