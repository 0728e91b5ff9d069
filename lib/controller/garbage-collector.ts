import { hasCode, type OptionRule, requireOptions, storeRule } from '../base/index.js';
import type { SharedInformer } from '../informer/index.js';
import {
  type AnyKind,
  type ApiObject,
  keyFor,
  keyOf,
  keyString,
  type Kind,
  type ObjectKey,
  type OwnerReference,
  parseKey,
} from '../object/index.js';
import type { ObjectStore } from '../store/index.js';
import type { Controller } from './controller.js';
import type { ControllerOptions } from './controller-options.js';
import { done, type Result } from './reconcile/result.js';
import { newController } from './new-controller.js';

/** A kind whose objects may own others or be owned. */
export interface CollectedKind {
  readonly kind: AnyKind;
  readonly informer: SharedInformer;
}

/** Dependencies of the garbage collector. */
export interface GarbageCollectorOptions
  extends Pick<ControllerOptions, 'clock' | 'random' | 'logger' | 'metrics' | 'causes'> {
  readonly store: ObjectStore;
  readonly kinds: readonly CollectedKind[];
}

const kindsRule: OptionRule = { give: 'a list of what collected() returns', fits: Array.isArray };
const ownerIndex = 'kedge.ownerUid';

/** Returns a kind of the collector. The call infers the object type, which the result does not have. */
export function collected<T extends ApiObject>(
  kind: Kind<T>,
  informer: SharedInformer<T>,
): CollectedKind {
  return { kind: kind, informer: informer };
}

// A key of this controller names an object of any kind: `Kind/namespace/name` or `Kind/name`.
function encodeKey(kind: string, key: ObjectKey): ObjectKey {
  return { namespace: kind, name: keyString(key) };
}
function decodeKey({ scope }: AnyKind, { name }: ObjectKey): ObjectKey {
  return scope === 'Cluster' ? { name } : parseKey(name);
}

/**
 * A controller that deletes objects whose owners are all gone (Kubernetes' background cascade). An owner is the
 * object of that name *and uid*, in the dependent's namespace or cluster-scoped; its absence is verified in the
 * store, not in a cache. An owner of a kind that is not collected counts as alive. Finalizers of a dependent are
 * respected.
 */
export function newGarbageCollector(options: GarbageCollectorOptions): Controller {
  requireOptions('newGarbageCollector', options, { store: storeRule, kinds: kindsRule });
  const { store, kinds, ...ports } = options;
  const byKind = new Map(kinds.map((entry) => [entry.kind.kind, entry]));

  const ownerLives = async (dependent: ApiObject, owner: OwnerReference): Promise<boolean> => {
    const kind = byKind.get(owner.kind)?.kind;
    // A cluster-scoped object can't reference the namespace of its owner: it is never collected.
    if (!kind || (kind.scope === 'Namespaced' && dependent.namespace === undefined)) return true;
    const key = keyFor(kind, dependent.namespace, owner.name);
    try {
      const found = await store.get(kind, key);
      return found?.metadata.uid === owner.uid;
    } catch (error) {
      // No object can have such a name.
      if (hasCode(error, 'InvalidArgument')) return false;
      throw error;
    }
  };

  const reconcile = async (request: { readonly key: ObjectKey }): Promise<Result> => {
    const entry = byKind.get(request.key.namespace ?? '');
    if (!entry) return done();
    const kind = entry.kind;
    const object = await store.get(kind, decodeKey(kind, request.key));
    const owners = object?.metadata.ownerReferences ?? [];
    if (!object || owners.length === 0) return done();
    for (const owner of owners) if (await ownerLives(object, owner)) return done();
    const { resourceVersion } = object.metadata;
    try {
      // Guarded by the version too: owners may have been added meanwhile.
      await store.delete(kind, object, { resourceVersion });
    } catch (error) {
      // NotFound: the object is already deleted. A conflict is retried.
      if (!hasCode(error, 'NotFound')) throw error;
    }
    return done();
  };

  const controller = newController({ ...ports, name: 'garbage-collector', reconcile });
  for (const { kind, informer: erased } of kinds) {
    const informer = erased;
    informer.addIndex(ownerIndex, (object) =>
      (object.metadata.ownerReferences ?? []).map((owner) => owner.uid),
    );
    const dependentsOf = (owner: ApiObject): readonly ObjectKey[] =>
      kinds.flatMap((other) =>
        other.informer.lister
          .byIndex(ownerIndex, owner.metadata.uid)
          .map((dependent) => encodeKey(other.kind.kind, keyOf(dependent))),
      );
    // Queues an object that is new or whose owners changed. The second watch below queues the dependents of a deleted
    // object.
    const itself = (object: ApiObject): readonly ObjectKey[] =>
      object.metadata.ownerReferences ? [encodeKey(kind.kind, keyOf(object))] : [];
    controller.watches(informer, itself, (before, object) => {
      const was = before.metadata.ownerReferences;
      return was !== object.metadata.ownerReferences;
    });
    controller.watches(informer, dependentsOf, () => false);
  }
  return controller;
}
