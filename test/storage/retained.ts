import type { ObjectStore } from 'kedge';
import { volumes } from '@kedge/controllers';

/**
 * Collects, from every commit, the uids of volumes with policy retain that ever had a handle: their data outlives
 * them. A volume can be provisioned and deleted within one step of a test, so the objects between steps do not suffice.
 */
export function retainedIn(store: ObjectStore): ReadonlySet<string> {
  const retained = new Set<string>();
  const { signal } = new AbortController();
  void store.source(volumes).watch(
    0,
    ({ events }) => {
      for (const { entry } of events) {
        const { storageClassName, handle, metadata } = entry.object;
        if (storageClassName === 'retain' && handle) retained.add(metadata.uid);
      }
    },
    signal,
  );
  return retained;
}
