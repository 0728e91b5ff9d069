import type { CredentialCapabilities } from './credential-capabilities.js';
import type { NodeHost } from '../node/node-host.js';
import type { NodeJournal } from '../journal/node-journal.js';
import type { Deferrable, Operations, Pending } from './operations.js';
import type { DriverSettings } from './driver-settings.js';
import type { ClassInspection } from './provider-report.js';
import type { StorageRoot } from './storage-root.js';
import type { JournaledCall } from '../errors/errors.js';
import type { ProviderPorts } from '../http/provider-client.js';

/** The access mode of a volume (specification section 2.2). */
export type AccessMode = 'ReadWriteOnce' | 'ReadOnlyMany' | 'ReadWriteMany';

/** The capabilities of a driver as data, so that admission can refuse requests before a call. */
export interface Capabilities extends CredentialCapabilities {
  readonly accessModes: readonly AccessMode[];
  readonly snapshots: boolean;
  readonly clone: boolean;
  readonly expand: boolean;
  /** Can grow a volume while it is bound. */
  readonly onlineExpand: boolean;
  /** Attach returns a device that must be formatted and mounted. */
  readonly blockDevice: boolean;
  /** Node labels that decide where a volume can be attached. */
  readonly topologyKeys: readonly string[];
  /** The parameters that name a place, by the label of {@link topologyKeys} that they override. */
  readonly placeParameters?: Readonly<Record<string, readonly string[]>>;
  /** Labels that a volume's topology must have: one of {@link placeParameters} sets it, else the label of a node. */
  readonly requiredTopologyKeys?: readonly string[];
  /** Maximum number of volumes that the provider attaches to one node. */
  readonly attachLimit?: number;
  /** A node adopts its attached volumes without a provider call: a restart verifies nothing at the provider. */
  readonly adoptsOffline?: boolean;
  /** False when the data is the user's own: such volumes can't have the reclaim policy delete. */
  readonly ownsData: boolean;
}

/** One broken rule of one parameter. */
export interface ParameterViolation {
  readonly key: string;
  readonly description: string;
}

/** The node label with the node's name: the topology key of data that is on one node. */
export const nodeTopologyKey = 'svc.io/node';

/** Parameters by key. In admission, values may be secret references; in calls they are plaintext. */
export type Parameters = Readonly<Record<string, string>>;

/** The context of parameter validation. */
export interface ParameterContext {
  /**
   * `class`: a volume may add missing parameters. `volume`: class and volume merged. `resolved`: the same in
   * plaintext, before a resource is created: no value is a reference, and none may be quoted.
   */
  readonly level: 'class' | 'volume' | 'resolved';
}

/** The volume of a call. Provider-side names derive from `uid`, never from the name of the object. */
export interface VolumeIdentity {
  readonly uid: string;
  readonly name: string;
  readonly namespace: string;
  /**
   * The provider-side name of a resource that {@link ClassInspection.find} found and a user imported. Absent: the name
   * that derives from `uid`.
   */
  readonly importedAs?: string;
  readonly accessMode?: AccessMode;
  /** The labels of {@link ProvisionRequest.topology}, as recorded before provisioning. Absent: none. */
  readonly topology?: Readonly<Record<string, string>>;
}

/** The context of a call for a volume. */
export interface CallContext extends Deferrable {
  readonly volume: VolumeIdentity;
  /** Class and volume merged, in plaintext. */
  readonly parameters: Parameters;
  /** The node of the call. */
  readonly node: string;
  readonly signal: AbortSignal;
  readonly operations: Operations;
}

/** The request of {@link Driver.provision}. */
export interface ProvisionRequest extends CallContext {
  readonly sizeBytes: bigint;
  readonly accessMode: AccessMode;
  /** The node's labels of the driver's topologyKeys: the location, unless a parameter sets it. */
  readonly topology: Readonly<Record<string, string>>;
}

/** The provisioned volume; at least as large as requested if the driver enforces sizes. */
export interface ProvisionResult {
  readonly type?: never;
  readonly handle: string;
  readonly sizeBytes: bigint;
}

/** The request of a call for a provisioned volume. */
export interface HandleRequest extends CallContext {
  readonly handle: string;
}

/** The request of {@link Driver.delete} and {@link Driver.observe}. Without a handle: the resource of this identity. */
export interface DeleteRequest extends CallContext {
  readonly handle: string | undefined;
}

/** The result of {@link Driver.observe}. */
export interface Observation {
  readonly handle: string;
  readonly sizeBytes: bigint | undefined;
}

/** The request of {@link Driver.attach}. */
export interface AttachRequest extends HandleRequest {
  /** Where this node mounts the volume. What is mounted there already must not be detached. Absent: unknown. */
  readonly target?: string;
}

/** The result of {@link Driver.attach}. */
export interface AttachResult {
  readonly type?: never;
  /** Device path for block devices, else empty. */
  readonly devicePath: string;
}

/** The request of {@link Driver.mount}. */
export interface MountRequest extends HandleRequest {
  readonly devicePath: string;
  /**
   * The control plane's consent to format: true until the volume was formatted once. A driver formats only with it,
   * and only a device that it has verified to be blank.
   */
  readonly mayFormat: boolean;
  /**
   * Whether its content was not written by the volume itself: that of a snapshot, or of an imported disk. Only such a
   * device may be blank without {@link mayFormat} although nothing is wrong. Absent: false.
   */
  readonly isCopy?: boolean;
  /** The recorded size of the volume, bytes. Absent: unknown. */
  readonly sizeBytes?: bigint;
  /** The mount point. A driver that does not mount may return another directory. */
  readonly target: string;
  readonly readOnly: boolean;
}

/** The result of {@link Driver.mount}. */
export interface MountResult {
  /** The path of the volume's content. */
  readonly path: string;
  /** The device has a file system and must not be formatted again. Set only for block devices. */
  readonly formatted?: boolean;
  /** The file system is smaller than the device and could not grow while mounted: the next mount grows it. */
  readonly fileSystemPending?: boolean;
}

/** The request of {@link Driver.unmount}. */
export type UnmountRequest = HandleRequest & { readonly target: string };

/** The request of {@link Driver.expand}. */
export interface ExpandRequest extends HandleRequest {
  readonly sizeBytes: bigint;
}

/** The result of {@link Driver.expand}. */
export interface ExpandResult {
  readonly type?: never;
  /** The new size. */
  readonly sizeBytes: bigint;
  /** The file system must still grow: the next {@link Driver.mount}, also of a mounted volume, grows it. */
  readonly fileSystemPending: boolean;
}

/** The snapshot of a call. Provider-side names derive from `uid`. */
export interface SnapshotIdentity {
  readonly uid: string;
  readonly name: string;
  readonly namespace: string;
}

/** The request of {@link Driver.createSnapshot}: `volume` and `handle` are those of the source. */
export interface SnapshotRequest extends HandleRequest {
  readonly snapshot: SnapshotIdentity;
}

/** The request of a call for a snapshot, also of a deleted source. Without a handle: the snapshot of the identity. */
export interface SnapshotHandleRequest extends Deferrable {
  readonly snapshot: SnapshotIdentity;
  readonly handle: string | undefined;
  readonly parameters: Parameters;
  readonly node: string;
  readonly signal: AbortSignal;
  readonly operations: Operations;
}

/** A snapshot at the provider. */
export interface SnapshotResult {
  readonly type?: never;
  readonly handle: string;
  /** The minimum size of a restored volume. */
  readonly restoreSizeBytes: bigint;
  /** False while the provider completes the snapshot, whose point in time is fixed: observe it again. */
  readonly ready: boolean;
}

/** The request of {@link Driver.restore}: a new volume with the content of a snapshot. */
export interface RestoreRequest extends ProvisionRequest {
  readonly snapshot: SnapshotIdentity & { readonly handle: string };
}

/**
 * A storage driver.
 *
 * Every call is idempotent: if it is repeated after a success, a lost reply or a crash, it creates no second resource
 * and returns the same result. Delete, unmount and detach of an absent resource succeed. Every call throws
 * {@link DriverError} only. A call whose result may be {@link Pending} returns it instead of waiting longer than
 * {@link answerWithinMs} for its provider, and continues when it is called again.
 */
export interface Driver extends ClassInspection {
  readonly name: string;
  /** The name of the cloud provider, for messages; absent for drivers of this machine. */
  readonly provider?: string;
  capabilities(): Capabilities;
  /**
   * Returns all violations of the parameters. Makes no calls. References are not resolved except at level `resolved`.
   */
  validateParameters(
    parameters: Parameters,
    context: ParameterContext,
  ): readonly ParameterViolation[];
  /** Loads what the calls need, before a volume has begun to be provisioned. @throws DriverError Unavailable */
  readonly load?: () => Promise<void>;
  provision(request: ProvisionRequest): Promise<ProvisionResult | Pending>;
  /** Returns the state of the volume's resource at the provider. @throws DriverError NotFound */
  observe(request: DeleteRequest): Promise<Observation>;
  delete(request: DeleteRequest): Promise<void | Pending>;
  attach(request: AttachRequest): Promise<AttachResult | Pending>;
  detach(request: HandleRequest): Promise<void | Pending>;
  mount(request: MountRequest): Promise<MountResult>;
  unmount(request: UnmountRequest): Promise<void>;
  /** Expands the volume to at least the requested size. */
  expand(request: ExpandRequest): Promise<ExpandResult | Pending>;
  /** Starts a snapshot; the same identity returns the same one. Drivers without snapshots throw Unsupported. */
  createSnapshot(request: SnapshotRequest): Promise<SnapshotResult | Pending>;
  /** Returns the state of the snapshot at the provider. @throws DriverError NotFound */
  observeSnapshot(request: SnapshotHandleRequest): Promise<SnapshotResult>;
  deleteSnapshot(request: SnapshotHandleRequest): Promise<void | Pending>;
  /** Like {@link provision}, with the snapshot's content. */
  restore(request: RestoreRequest): Promise<ProvisionResult | Pending>;
  /** The last calls of the provider about a volume or snapshot, the oldest first. */
  readonly recentCalls?: (uid: string) => readonly JournaledCall[];
}

/** A path of the node that no workload may reach. */
export interface DeniedPath {
  readonly path: string;
  /** The content of the path, for messages: `the data directory of kedged`. */
  readonly name: string;
}

/** The storage settings of the node (specification section 2.4). */
export interface StorageSettings {
  /** Directory managed for the local driver. */
  readonly localVolumeRoot: string;
  /**
   * The directory at {@link localVolumeRoot}, checked at every use. Absent: the directory is not checked, and is
   * created if missing.
   */
  readonly storageRoot?: StorageRoot;
  /** The journal of mounts and loop devices that drivers create on this node. Absent: in memory only. */
  readonly journal?: NodeJournal;
  /** The node of the drivers. Absent: the node of this process. */
  readonly host?: NodeHost;
  /** Allowed path prefixes for local-host; empty allows nothing. */
  readonly hostPathAllowlist: readonly string[];
  /** Paths that a directory of local-host must not equal, contain or lie in. Absent: none. */
  readonly hostPathDenylist?: readonly DeniedPath[];
  /** Whether createIfMissing is honoured. */
  readonly allowCreateMissing: boolean;
  /**
   * Name of the node of this process. Absent: unknown; drivers then call the provider also for what this node shows.
   */
  readonly node?: string;
  /** The id of this cluster, with which its resources at providers are marked. Absent: they have no mark. */
  readonly clusterId?: string;
  /** Settings of cloud drivers, by the name of the driver. */
  readonly drivers?: Readonly<Record<string, DriverSettings>>;
  /** Clock, transport and metrics of provider calls. */
  readonly providers?: ProviderPorts;
}

/** Creates a driver: the type of `createDriver` in a driver module. */
export type DriverFactory = (settings: StorageSettings) => Driver;
