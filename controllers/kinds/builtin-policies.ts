import { effectRecords } from 'kedge';
import type { BuiltinPolicies } from 'kedge/server';
import type { NodeRight } from '../api/kind-entry.js';
import { kindEntries } from './index.js';

const all = ['*'];
const read = ['get', 'list', 'watch'];
/** Resources without a kind that every user may read. */
const readable = ['logs', 'health', 'images'];

function plurals(people: 'write' | 'read'): readonly string[] {
  return kindEntries
    .filter(({ rights }) => rights.people === people)
    .map(({ kind }) => kind.plural);
}

function ofNodes(right: NodeRight): readonly string[] {
  return kindEntries
    .filter(({ rights }) => rights.node?.includes(right))
    .map(({ kind }) => kind.plural);
}

const written = plurals('write');
const seen = [...plurals('read'), ...readable];

/** Policies of every cluster that name its kinds, beside those of the library. */
export const accessPolicies: BuiltinPolicies = {
  readwrite: {
    description:
      'Read and write workloads, volumes, snapshots, secrets and configmaps; read the kinds that readonly reads',
    rules: [
      {
        resources: written,
        verbs: [...read, 'create', 'update', 'delete', 'scale'],
        namespaces: all,
      },
      { resources: ['exec'], verbs: ['exec'], namespaces: all },
      { resources: ['driverchecks'], verbs: ['create'], namespaces: all },
      { resources: seen, verbs: read, namespaces: all },
    ],
  },
  readonly: {
    description:
      'Read all kinds except tokens, users, policies and registries, without the values of secrets',
    rules: [{ resources: [...written, ...seen], verbs: read, namespaces: all }],
  },
  node: {
    description: 'The rights of a node agent, restricted to the objects of its node',
    rules: [
      { resources: ofNodes('read'), verbs: read, namespaces: all },
      { resources: ofNodes('reveal'), verbs: ['get', 'reveal'], namespaces: all },
      {
        resources: [effectRecords.plural],
        verbs: ['get', 'create', 'update', 'delete'],
        namespaces: all,
      },
      { resources: ofNodes('record'), verbs: ['get', 'list', 'create', 'update'], namespaces: all },
      // Commands, output and images of its own node, for callers of the server.
      { resources: ['noderequests'], verbs: ['serve'], namespaces: all },
      {
        resources: (['status', 'finalizers', 'expiry'] as const).flatMap((part) =>
          ofNodes(part).map((plural) => `${plural}/${part}`),
        ),
        verbs: ['update'],
        namespaces: all,
      },
    ],
  },
};
