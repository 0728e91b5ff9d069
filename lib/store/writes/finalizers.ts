import { notFound, recreated } from '../../base/index.js';
import { type ApiObject, type Kind, keyOf } from '../../object/index.js';
import { modify, type ModifiableStore } from './modify.js';

/**
 * Adds a finalizer to the object that was read, before external resources are created for it. Resolves to the stored
 * object once the finalizer is durable; no-op if it is present.
 * @throws StatusError NotFound if the object does not exist, Aborted (Conflict) if another one has its name,
 * FailedPrecondition (Deleting) once its deletion was requested.
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
 * Removes a finalizer from the object that was read; with the last one a requested deletion completes. Idempotent:
 * no-op for a deleted object or another one of its name.
 * @throws StatusError as {@link modify}
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
