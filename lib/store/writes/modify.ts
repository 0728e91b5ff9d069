import { hasCode, requireSynchronous } from '../../base/index.js';
import type { ApiObject, Kind, ObjectKey, StatusUpdate } from '../../object/index.js';
import type { StoreReader, StoreWriter } from '../contract/object-store.js';

/** The store functions that {@link modify} needs. */
export type ModifiableStore = Pick<StoreReader, 'get'> &
  Pick<StoreWriter, 'update' | 'updateStatus' | 'transact'>;

/** Maximum number of attempts before a conflict is returned. */
const triesMax = 16;

async function retryOnConflict<R>(store: ModifiableStore, attempt: () => Promise<R>): Promise<R> {
  for (let tries = 1; ; tries += 1) {
    try {
      return await attempt();
    } catch (error) {
      // NotFound: it was deleted since it was read; the next read shows it.
      const overtaken = hasCode(error, 'Aborted') || hasCode(error, 'NotFound');
      if (!overtaken || tries >= triesMax) throw error;
      // The competing write may not be durable yet: wait until reads show it.
      await store.transact([]);
    }
  }
}

/**
 * Reads an object, changes it and writes it with the version that was read; retries on conflict. `change` must be pure
 * and return a changed copy of its argument, or undefined for no change. Resolves to the stored object, or to undefined
 * if it does not exist.
 * @throws TypeError if `change` returns a promise
 * @throws StatusError Aborted (Conflict) after 16 conflicts, and errors of the write
 */
export function modify<T extends ApiObject>(
  store: ModifiableStore,
  kind: Kind<T>,
  key: ObjectKey,
  change: (current: T) => T | undefined,
): Promise<T | undefined> {
  return retryOnConflict(store, async () => {
    const current = await store.get(kind, key);
    const next = current && requireSynchronous('change', change(current));
    if (!current || !next) return current;
    return store.update(kind, next);
  });
}

/** Like {@link modify}, for status fields. */
export function modifyStatus<T extends ApiObject, S extends string>(
  store: ModifiableStore,
  kind: Kind<T, S>,
  key: ObjectKey,
  change: (current: T) => StatusUpdate<T, S> | undefined,
): Promise<T | undefined> {
  return retryOnConflict(store, async () => {
    const current = await store.get(kind, key);
    const status = current && requireSynchronous('change', change(current));
    if (!current || !status) return current;
    const { resourceVersion, uid } = current.metadata;
    return store.updateStatus(kind, key, status, { resourceVersion, uid });
  });
}
