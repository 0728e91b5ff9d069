import { type AnyKind, type ApiObject, keyFor, type ObjectKey } from '../../object/index.js';

/**
 * Returns a map from an object to the keys of its owners of one kind. A namespaced owner of a cluster-scoped object
 * yields no key, because owner references have no namespace.
 * @throws TypeError for an owner that is not a kind, such as its name.
 */
export function ownerKeys(owner: AnyKind): (object: ApiObject) => readonly ObjectKey[] {
  if (typeof owner !== 'object')
    throw new TypeError(
      `the owner is ${JSON.stringify(owner)}; pass the kind that defineKind returned`,
    );
  return ({ namespace, metadata }) => {
    if (owner.scope === 'Namespaced' && namespace === undefined) return [];
    return (metadata.ownerReferences ?? [])
      .filter(({ kind }) => kind === owner.kind)
      .map(({ name }) => keyFor(owner, namespace, name));
  };
}
