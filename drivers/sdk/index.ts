/**
 * The driver contract with its helpers: the interface, the closed set of errors, parameter rules as data. Imports
 * nothing of Kedge.
 */
export * from './contract/driver.js';
export type { DriverRegistry } from './contract/driver-registry.js';
export type { CredentialCapabilities } from './contract/credential-capabilities.js';
export * from './errors/errors.js';
export { onNode } from './errors/on-node.js';
export { holdsSecret, maskSecrets } from './errors/mask-secrets.js';
export * from './contract/operations.js';
export {
  type AwaitOptions,
  awaitOperation,
  type AwaitRequest,
  type Observed,
  type OperationState,
  type ProviderOperation,
} from './provider/await-operation.js';
export * from './contract/parameters.js';
export type * from './contract/driver-settings.js';
export type * from './contract/provider-report.js';
export type { ProviderPorts } from './http/provider-client.js';
export { type SynchronousDriver, synchronousDriver } from './provider/synchronous-driver.js';
export { inTurn } from './turns/serial-work.js';
export {
  type DiskRoom,
  type FileKind,
  type HostFiles,
  isAbsence,
  isDiskFull,
  mountOn,
  type NodeHost,
  type OpenedDirectory,
} from './node/node-host.js';
export { nodeHost, thisNode } from './node/this-node.js';
export { KeyedQueue } from './turns/keyed-queue.js';
export { attachLoop, loopOf, mountOfLoop } from './block/loop-device.js';
export { loopsOf, requireLoopOf, requireOwnFile, requireSameFile } from './block/loop-origin.js';
export type { LoopRecord } from './journal/loop-record.js';
export {
  directoryJournal,
  type JournalFiles,
  memoryJournal,
  NodeJournal,
  type NodePlaces,
  type NodeState,
} from './journal/node-journal.js';
export { type NodeUndo, type Recovery, recoverNode } from './journal/node-recovery.js';
export { detachLoops, nodeUndo, thawDevice } from './block/node-undo.js';
export { isAccessible, isAtOrBelow } from './node/paths.js';
export { makeDirectory } from './node/make-directory.js';
export { replaceFile, syncFolder } from './node/replace-file.js';
export { type StorageRoot, uncheckedStorageRoot } from './contract/storage-root.js';
export { noSnapshots } from './contract/no-snapshots.js';
export { blockPrograms } from './block/block-programs.js';
export { programReports } from './block/program-reports.js';
export {
  type CommandResult,
  requireCommand,
  requirePrograms,
  type RunCommand,
  runCommand,
} from './node/run-command.js';
export {
  describeHolders,
  type HeldVolume,
  type Holder,
  type Holders,
  joinHolders,
} from './node/holders.js';
export { directoryMounts } from './node/directory-mounts.js';
export { nodeHolders } from './node/node-holders.js';
export { type ProcessMounts, processMounts } from './node/process-mounts.js';
export {
  deviceNumber,
  formatDeviceNumber,
  mountAt,
  type MountEntry,
  parseMountTable,
  readMountTable,
} from './node/mount-table.js';
export {
  checkFileSystem,
  type DeviceContent,
  deviceSize,
  type FsType,
  growMounted,
  inspectDevice,
  makeFileSystem,
  waitForDevice,
} from './block/block-device.js';
export { type BlockMountOptions, mountBlockDevice } from './block/block-mount.js';
export { unmountTarget } from './block/block-unmount.js';
export { requireUnused } from './block/released-device.js';
export { type InstanceLookup, type NodeInstances } from './contract/node-instance.js';
export {
  type BlockDetachRequest,
  type BlockAttachRequest,
  type BlockDriverOptions,
  type BlockExpansion,
  type BlockProvider,
  type BlockSnapshots,
  createBlockDriver,
} from './block/block-driver.js';
