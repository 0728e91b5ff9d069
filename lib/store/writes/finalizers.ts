import { notFound, recreated } from '../../base/index.js';
import { type ApiObject, type Kind, keyOf } from '../../object/index.js';
import { modify, type ModifiableStore } from './modify.js';

/**
 * Puts a finalizer on the object that was read, before anything is made for it elsewhere. Resolves to
 * the object as stored once the finalizer is; writes nothing when it is there already.
 * @throws StatusError NotFound when the object is gone, Aborted (Conflict) when another one has its
 * name, FailedPrecondition (Deleting) once its deletion was asked for.
 */
export async function addFinalizer<T extends ApiObject>(
  store: ModifiableStore,
  kind: Kind<T>,
  object: T,
  finalizer: string,
): Promise<T> {
  const { uid } = object.metadata;
  const resource = { kind: kind.kind, ...keyOf(object) };
  const held = await modify(store, kind, keyOf(object), (current) => {
    const { metadata } = current;
    if (metadata.uid !== uid) throw recreated(resource, uid, metadata.uid);
    const finalizers = metadata.finalizers ?? [];
    if (finalizers.includes(finalizer)) return undefined;
    return { ...current, metadata: { ...metadata, finalizers: [...finalizers, finalizer] } };
  });
  if (!held) throw notFound(resource);
  return held;
}

/**
 * Takes a finalizer off the object that was read; with the last one a deletion that was asked for
 * happens. Idempotent: an object that is gone, or another one under its name, is left alone.
 */
export async function removeFinalizer<T extends ApiObject>(
  store: ModifiableStore,
  kind: Kind<T>,
  object: T,
  finalizer: string,
): Promise<void> {
  await modify(store, kind, keyOf(object), (current) => {
    const { metadata } = current;
    if (metadata.uid !== object.metadata.uid) return undefined;
    const finalizers = metadata.finalizers ?? [];
    if (!finalizers.includes(finalizer)) return undefined;
    return {
      ...current,
      metadata: { ...metadata, finalizers: finalizers.filter((f) => f !== finalizer) },
    };
  });
}
