/**
 * What a storage driver implements and what helps it: the interface, the closed set of errors,
 * parameter rules as data. Imports nothing of Kedge.
 */
export * from './driver.js';
export * from './errors.js';
export * from './operations.js';
export {
  type AwaitOptions,
  awaitOperation,
  type AwaitRequest,
  type Looked,
  operationIdOf,
  type OperationState,
  type ProviderOperation,
} from './await-operation.js';
export * from './parameters.js';
export { type SynchronousDriver, synchronousDriver } from './synchronous-driver.js';
export { declaredDriver, type DriverDeclaration } from './declared-driver.js';
export { inTurn } from './in-turn.js';
export {
  type DiskRoom,
  type FileKind,
  type HostFiles,
  isAbsence,
  mountOn,
  type NodeHost,
  type OpenedDirectory,
} from './node-host.js';
export { nodeHost, thisNode } from './this-node.js';
export { KeyedQueue } from './keyed-queue.js';
export { attachLoop, loopOf, loopsOf, mountOfLoop } from './loop-device.js';
export {
  directoryJournal,
  type JournalFiles,
  memoryJournal,
  NodeJournal,
  type NodeState,
} from './node-journal.js';
export { type NodeUndo, type Recovery, recoverNode } from './node-recovery.js';
export { detachLoops, nodeUndo, thawDevice } from './node-undo.js';
export { replaceFile, syncFolder } from './replace-file.js';
export { type StorageRoot, uncheckedStorageRoot } from './storage-root.js';
export { noSnapshots } from './no-snapshots.js';
export {
  type CommandResult,
  demandCommand,
  demandPrograms,
  type RunCommand,
  runCommand,
} from './run-command.js';
export {
  describeHolders,
  type HeldVolume,
  type Holder,
  type Holders,
  joinHolders,
} from './holders.js';
export { nodeHolders } from './node-holders.js';
export { type ProcessMounts, processMounts } from './process-mounts.js';
export {
  deviceNumber,
  formatDeviceNumber,
  mountAt,
  type MountEntry,
  parseMountTable,
  readMountTable,
} from './mount-table.js';
export {
  checkFileSystem,
  type DeviceContent,
  deviceSize,
  type FsType,
  growMounted,
  inspectDevice,
  makeFileSystem,
  waitForDevice,
} from './block-device.js';
export {
  type BlockMountOptions,
  demandUnused,
  mountBlockDevice,
  unmountTarget,
} from './block-mount.js';
export { type InstanceLookup, type NodeInstances } from './node-instance.js';
export {
  type BlockDetachRequest,
  type BlockAttachRequest,
  type BlockDriverOptions,
  type BlockExpansion,
  type BlockProvider,
  type BlockSnapshots,
  createBlockDriver,
} from './block-driver.js';
