/**
 * Backups of a cluster: what a restore demands, and what a copy of a cluster must not touch.
 *
 * Guarantees:
 * - A backup holds no key-encryption key, and a restore whose key does not open every sealed value of the
 *   backup changes nothing.
 * - A copy makes no driver call about a volume or snapshot that it holds from the original.
 * - An online backup is one revision, whatever is written meanwhile, and tells when it is whole.
 *
 * Not promised: that workloads of a copy do nothing to the world outside; those without volumes start.
 */
export { foreignGuard, type ForeignGuardOptions } from './foreign-drivers.js';
export { foreignRecords } from './foreign-record.js';
export { type CheckedBackup, checkBackup } from './check.js';
export { type DataRestoreOptions, restoreData } from './restore.js';
export type { KeysAtHand } from './sealed-check.js';
export { backupVerbs, type OnlineBackups } from './verbs.js';
