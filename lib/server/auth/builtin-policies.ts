import { hasCode } from '../../base/index.js';
import { jsonEqual } from '../../object/index.js';
import type { ObjectStore } from '../../store/index.js';
import { modify } from '../../store/writes/modify.js';
import { policies, type PolicyRule } from './kinds.js';

const all = ['*'];

/** Policies by name whose content is defined by the release. */
export type BuiltinPolicies = Readonly<
  Record<string, { readonly description: string; readonly rules: readonly PolicyRule[] }>
>;

/** Policies of every cluster, regardless of its kinds. */
export const builtinPolicies: BuiltinPolicies = {
  root: {
    description: 'Everything',
    rules: [{ resources: all, verbs: all, namespaces: all }],
  },
  admin: {
    description: 'Everything except the values of secrets and the work of agents',
    rules: [
      {
        resources: all,
        // The verb `serve` is for the agents of nodes.
        verbs: [
          ...['get', 'list', 'watch', 'create', 'update', 'delete', 'scale', 'exec'],
          ...['elevate', 'load', 'prune'],
        ],
        namespaces: all,
      },
    ],
  },
};

/**
 * Writes the built-in policies of this release. Idempotent.
 * @param further policies of the served kinds, which are built in like {@link builtinPolicies}
 */
export async function seedPolicies(
  store: ObjectStore,
  further: BuiltinPolicies = {},
): Promise<void> {
  for (const [name, { description, rules }] of Object.entries({ ...builtinPolicies, ...further })) {
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
