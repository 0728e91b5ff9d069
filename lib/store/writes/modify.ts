import { hasCode, requireSynchronous } from '../../base/index.js';
import type { ApiObject, Kind, ObjectKey, StatusUpdate } from '../../object/index.js';
import type { StoreReader, StoreWriter } from '../contract/object-store.js';

/** What reading and writing back needs of a store. */
export type ModifiableStore = Pick<StoreReader, 'get'> &
  Pick<StoreWriter, 'update' | 'updateStatus' | 'transact'>;

/** Tries before a conflict is given back: each means that somebody else got through. */
const triesMax = 16;

async function retryOnConflict<R>(store: ModifiableStore, attempt: () => Promise<R>): Promise<R> {
  for (let tries = 1; ; tries += 1) {
    try {
      return await attempt();
    } catch (error) {
      // NotFound: it was deleted since it was read; reading it again tells.
      const overtaken = hasCode(error, 'Aborted') || hasCode(error, 'NotFound');
      if (!overtaken || tries >= triesMax) throw error;
      // The winner may still be on its way to the disk: wait until reads show it.
      await store.transact([]);
    }
  }
}

/**
 * Read, change, write with the version read; again on conflict. `change` must be pure and returns a
 * changed copy of what it is given, or undefined for nothing to do. Resolves to undefined when the
 * object does not exist.
 * @throws TypeError when `change` gives a promise
 * @throws StatusError Aborted (Conflict) when others were faster 16 times, and what the write throws
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

/** As {@link modify}, for status fields. */
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
