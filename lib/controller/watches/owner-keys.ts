import { type AnyKind, type ApiObject, keyFor, type ObjectKey } from '../../object/index.js';

/**
 * The keys of an object's owners of one kind. A cluster-scoped object can't be owned by a namespaced one, because
 * its reference has no namespace; it yields no key.
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
