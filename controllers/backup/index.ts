/**
 * Backups of a cluster: the requirements of a restore, and the isolation of a copied cluster from its original.
 *
 * Guarantees:
 * - A backup contains no key-encryption key. A restore changes nothing if the key does not open every sealed value.
 * - A copy makes no driver call for a volume or snapshot of the original.
 * - An online backup is the state at one revision, despite concurrent writes, and reports when it is complete.
 *
 * Not guaranteed: that workloads of a copy have no external effects. Workloads without volumes start.
 */
export { foreignGuard, type ForeignGuardOptions } from './foreign-drivers.js';
export { type CheckedBackup, checkBackup } from './check.js';
export { type DataRestoreOptions, restoreData } from './restore.js';
export type { KeysAtHand } from './sealed-check.js';
export { backupVerbs, type OnlineBackups } from './verbs.js';
