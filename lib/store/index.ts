/**
 * A generic object store with ordered, resumable watch.
 *
 * Guarantees (the conformance suite in testing/conformance tests all of them but G4 under these names):
 * - Durable (G1): a resolved write survives a crash of process or machine; no read shows a change that is not durable
 * yet.
 * - Atomic (G2): a transaction's changes appear together, at one revision, in one watch batch.
 * - Serializable (G3): revisions are one dense order; of N writers that expect the same version at most one succeeds.
 * - Known outcome (G4): a write succeeds, fails, or rejects with Unavailable, after which it was committed once or
 *   not at all.
 * - Monotonic (G5): revisions never decrease or repeat, also across restarts and compaction.
 * - Integrity (G6): every record passed its checksum; a store with damage or holes does not open.
 * - Watch: ordered, unique, reliable, atomic, resumable within history, bookmarkable. A list at R and a watch from
 *   R neither lose nor repeat an event.
 *
 * Not guaranteed: a bound on the delay of events, or history beyond the limits.
 */
export * from './contract/reads.js';
export * from './contract/operations.js';
export * from './contract/object-store.js';
export type {
  Checkpoint,
  Engine,
  EngineRecord,
  EngineState,
  Existing,
  Fill,
  Migration,
  RecordAddress,
  ReplaceableEngine,
  Replacement,
  Reserve,
} from './engine/engine.js';
export { MemoryEngine } from './engine/memory-engine.js';
export { LevelEngine } from './level/level-engine.js';
export {
  rehearseUpgrade,
  type RehearsalOptions,
  type UpgradeReport,
} from './rehearse-upgrade.js';
export type { CopyRoom } from './level/migration.js';
export type { LevelEngineOptions } from './level/level-engine-options.js';
export {
  type Database,
  type DatabaseBatch,
  type DatabaseDriver,
  type DatabaseIterator,
  type Durability,
  levelDriver,
} from './level/level-database.js';
export { type DirectoryLock, lockDirectory } from './directory/directory-lock.js';
export { openStore } from './open-store.js';
export type { StoreOptions } from './contract/store-options.js';
export {
  backupToFile,
  restoreBackup,
  type RestoreOptions,
  type RestoreReport,
} from './backup/restore-backup.js';
export { type BackedUpObject, type BackupDescription, verifyBackup } from './backup/read-backup.js';
export {
  type Salvaged,
  type SalvagedName,
  type SalvageOptions,
  salvageStore,
} from './salvage/salvage.js';
export type { DamagedFile } from './salvage/salvage-copy.js';
export type { RevisionRange, SalvageLosses } from './salvage/salvage-losses.js';
export {
  type DirectoryEntry,
  type FileSystem,
  nodeFileSystem,
  type OpenFile,
  type OpenMode,
} from './directory/file-system.js';
export { TransactionalWrites } from './writes/transactional-writes.js';
export { addFinalizer, removeFinalizer } from './writes/finalizers.js';
export { requireKnownOperation, requireKnownOperations } from './writes/known-operation.js';
export { keyOfOperation } from './writes/operation-key.js';
export { type ModifiableStore, modify, modifyStatus } from './writes/modify.js';
