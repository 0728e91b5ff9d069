/**
 * Storage roots: the directories below which driver `local` keeps volumes. A root contains its cluster id, so that the
 * empty mount point of an unmounted disk, or the disk of another cluster, is not mistaken for it.
 *
 * Guarantees: see {@link StorageRootManager}.
 *
 * Errors: a use of a refused root rejects with DriverError Unavailable, whose message has the remedy.
 */
export { StorageRootManager, type StorageRootOptions } from './manager.js';
export type { RootState } from './refusal.js';
export { type PlacedData, planRoot, type RootPlan, type RootSituation } from './plan.js';
export { storageRootVerbs, type StorageRootVerbOptions } from './verbs.js';
export { rootCondition, StorageRootWatch, type StorageRootWatchOptions } from './watch.js';
