/**
 * Storage roots: the directories below which driver `local` keeps volumes. A root carries the id of the
 * cluster that it is of, so that the empty mount point of a disk that is not mounted, or the disk of
 * another cluster, is never taken for it.
 */
export { StorageRootKeeper, type StorageRootOptions, type RootState } from './keeper.js';
export { type PlacedData, planRoot, type RootPlan, type RootSituation } from './plan.js';
export { rootCondition, StorageRootWatch, type StorageRootWatchOptions } from './watch.js';
