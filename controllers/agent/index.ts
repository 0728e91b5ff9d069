/**
 * The agent of a node: it attaches and mounts volumes, then starts the workload; in reverse to stop.
 *
 * Guarantees:
 * - Workloads and mounts survive a kill of the daemon. The next process adopts workloads by their run folders or the
 *   labels of their containers, and volumes by their attachments.
 * - A volume is unmounted only after the workload that uses it has ended.
 * - A failure of a driver or of a start is reported in the conditions of the instance, and retried with backoff.
 *
 * Errors: {@link Agent.start} rejects if the store, the mounts or the node journal can't be read.
 *
 * Caveats:
 * - A workload that survives SIGKILL keeps its volumes attached.
 * - The agent of a node assumes that no other agent of this node runs; see `NodeRegistration` of the nodes.
 */
export { Agent, type AgentOptions } from './agent.js';
export {
  type AgentDirectory,
  type AgentDirectoryOptions,
  openAgentDirectory,
} from './agent-directory.js';
export { DataFiles, dataFilesDirectory } from './inputs/data-files.js';
export type { ExecExit, ExecOutput, ExecProcess, ExecSpec, TerminalSize } from './runtime/exec.js';
export { availableNames } from './instances/instance-runtime.js';
export { ProcessRuntime, type ProcessRuntimeOptions } from './process/process-runtime.js';
export { runtimeFailure } from './runtime/runtime-failure.js';
export type { LogCursor, LogLine, LogRequest } from './runtime/log.js';
export type {
  Availability,
  Runtime,
  StopProgress,
  WorkloadMount,
  WorkloadSpec,
  WorkloadState,
} from './runtime/runtime.js';
export { UsedParameters, type UsedParametersOptions } from './volumes/used-parameters.js';
export { claimOf, VolumeManager, type VolumeManagerOptions } from './volumes/volume-manager.js';
export type { ChangeOwner, NewOwner } from './volumes/mount-owner.js';
export { VolumeUsage, type VolumeUsageOptions } from './volumes/usage/volume-usage.js';
export { type RecoveryOptions, thawLeftovers } from './recovery/node-recovery.js';
export { ContainerRuntime, type ContainerRuntimeOptions } from './container/container-runtime.js';
export { EngineClient, type EngineClientOptions } from './container/engine/engine-client.js';
export { EngineError } from './container/engine/engine-error.js';
export { ImageRecords } from './container/images/image-records.js';
export { Images, type ImagesOptions } from './container/images/images.js';
export {
  type CredentialsOf,
  registryCredentials,
} from './container/images/registry-credentials.js';
export { ImageDisk, type ImageDiskOptions } from './container/images/image-disk.js';
export {
  type NodeImage,
  NodeImages,
  type NodeImagesOptions,
} from './container/images/node-images.js';
export { changeOwnerInContainer, removeAlsoForeign } from './container/helper/foreign-files.js';
export { OneOffContainers } from './container/helper/one-off.js';
