import type { ApiObject, Kind, ObjectKey } from '../object/index.js';
import { modify, type ModifiableStore } from './modify.js';

/**
 * Takes one finalizer off an object; with the last one a deletion that was asked for happens.
 * Idempotent. With `uid`, an object of the same name but another uid is left alone.
 */
export async function removeFinalizer<T extends ApiObject>(
  store: ModifiableStore,
  kind: Kind<T>,
  key: ObjectKey,
  finalizer: string,
  uid?: string,
): Promise<void> {
  await modify(store, kind, key, (current) => {
    const { metadata } = current;
    if (uid !== undefined && metadata.uid !== uid) return undefined;
    const finalizers = (metadata.finalizers ?? []).filter((f) => f !== finalizer);
    return { ...current, metadata: { ...metadata, finalizers } };
  });
}
