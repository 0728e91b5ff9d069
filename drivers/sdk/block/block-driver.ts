import { blockProgramReports } from './block-programs.js';
import { mountBlockDevice } from './block-mount.js';
import { unmountTarget } from './block-unmount.js';
import { LostLinks } from './lost-link.js';
import { requireUnused } from './released-device.js';
import { isUnanswered, repeatedAttach } from './unanswered-call.js';
import type {
  AccessMode,
  AttachResult,
  CallContext,
  DeleteRequest,
  Driver,
  ExpandRequest,
  HandleRequest,
  Observation,
  ParameterContext,
  Parameters,
  ParameterViolation,
  ProvisionRequest,
  ProvisionResult,
  RestoreRequest,
  SnapshotHandleRequest,
  SnapshotRequest,
  SnapshotResult,
} from '../contract/driver.js';
import { DriverError } from '../errors/errors.js';
import { onNode } from '../errors/on-node.js';
import { findInstance, type NodeInstances, requireInstance } from '../contract/node-instance.js';
import { noSnapshots } from '../contract/no-snapshots.js';
import { isPending, type Pending } from '../contract/operations.js';
import {
  credentialKeys,
  fsTypeRule,
  type ParameterRule,
  requireParameters,
  sensitiveKeys,
  validateByRules,
} from '../contract/parameters.js';
import type { NodeHost } from '../node/node-host.js';
import type { RunCommand } from '../node/run-command.js';
import { nodeHost } from '../node/this-node.js';

/** The snapshot calls of a provider. */
export interface BlockSnapshots {
  create(request: SnapshotRequest): Promise<SnapshotResult | Pending>;
  observe(request: SnapshotHandleRequest): Promise<SnapshotResult>;
  delete(request: SnapshotHandleRequest): Promise<void | Pending>;
  /** Creates a volume with the snapshot's content and at least the requested size. */
  restore(request: RestoreRequest): Promise<ProvisionResult | Pending>;
}

/** The expansion of volumes by a provider. */
export interface BlockExpansion {
  /** Whether a volume can grow while it is attached. */
  readonly online: boolean;
  /** Returns the new size in bytes. */
  grow(request: ExpandRequest): Promise<bigint | Pending>;
}

/** The request of a provider's attach. */
export interface BlockAttachRequest extends HandleRequest {
  /** The provider's id of the node; the node's name if {@link BlockProvider.instances} is absent. */
  readonly instance: string;
  /**
   * Whether this node has the volume mounted, in any mount namespace, also if the link of its device is lost. An attach
   * that repairs an attachment by a detach must not do so then. @throws DriverError
   */
  readonly isMounted: () => Promise<boolean>;
}

/** The request of a provider's detach. */
export interface BlockDetachRequest extends HandleRequest {
  /** As in {@link BlockAttachRequest}; undefined if the instance no longer exists at the provider. */
  readonly instance: string | undefined;
}

/** The provider-specific part of a block driver: the provider's calls and their contract. */
export interface BlockProvider {
  readonly name: string;
  /** The name of the cloud provider, for messages. */
  readonly provider?: string;
  /** Default: ReadWriteOnce. */
  readonly accessModes?: readonly AccessMode[];
  /** Node labels that decide where a volume can be attached. */
  readonly topologyKeys?: readonly string[];
  /** See {@link Capabilities.placeParameters}. */
  readonly placeParameters?: Readonly<Record<string, readonly string[]>>;
  /** See {@link Capabilities.requiredTopologyKeys}. */
  readonly requiredTopologyKeys?: readonly string[];
  /** Maximum number of volumes that are attached to one instance. */
  readonly attachLimit?: number;
  /** Parameters in addition to fsType, which every block driver has. */
  readonly parameters: readonly ParameterRule[];
  /** The capability of this name. */
  readonly wholeCredentials?: readonly (readonly string[])[];
  /** Further rules, over several parameters. At level `resolved` values may be secrets: don't quote them. */
  readonly validate?: (
    parameters: Parameters,
    context: ParameterContext,
  ) => readonly ParameterViolation[];
  create(request: ProvisionRequest): Promise<ProvisionResult | Pending>;
  /** Returns the state of the volume's resource. @throws DriverError NotFound */
  observe(request: DeleteRequest): Promise<Observation>;
  delete(request: DeleteRequest): Promise<void | Pending>;
  /**
   * The lookup of nodes among the provider's instances (specification rule 11). Absent: instances have the names of
   * nodes.
   */
  readonly instances?: NodeInstances;
  /**
   * The by-id link of a volume that is attached to this node, as shown by the node itself: attach then needs no
   * provider call and no credential. Undefined: the provider is called.
   */
  readonly attachedHere?: (request: HandleRequest) => Promise<string | undefined>;
  /** Attaches to `request.instance`; returns the by-id link of the device. */
  attach(request: BlockAttachRequest): Promise<AttachResult | Pending>;
  /**
   * Detaches the volume at the provider. Called only while the device that {@link devicePath} returns, if any, is not in
   * use on this node, or for another node that has the volume too. While it has an attempt in {@link Operations} without
   * the id of the provider's operation, an attach calls it first, and the reverse.
   */
  detach(request: BlockDetachRequest): Promise<void | Pending>;
  /** Whether `detach` itself ends an attach whose call got no answer; absent: no. */
  readonly endsAttach?: boolean;
  /** The path of the device on this node, without a provider call; undefined if no link leads to it. */
  devicePath(request: HandleRequest): Promise<string | undefined>;
  /** Whether a device is the volume's, by its serial; absent: the provider sets none. */
  readonly identify?: (device: string, request: HandleRequest) => Promise<boolean>;
  /**
   * Whether `identify` knows a device by more than its link, such as a serial; absent: no. Then a mount is refused while
   * the device is mounted writable outside of the mounts of kedged.
   */
  readonly hasSerial?: (device: string, request: HandleRequest) => Promise<boolean>;
  /**
   * Whether its devices have the recorded size of the volume, up to 64 MiB: then the first mount refuses a device of
   * another size, and a later one a smaller device. Absent: false, for example because a header on the device takes
   * space.
   */
  readonly exactSize?: boolean;
  readonly expansion?: BlockExpansion;
  readonly snapshots?: BlockSnapshots;
}

/** Dependencies of {@link createBlockDriver}. */
export interface BlockDriverOptions {
  readonly run?: RunCommand;
  /** The node that the driver works on; default: that of this process. */
  readonly host?: NodeHost;
  /** The name of that node. Absent: its uses of a device block each detach, also from another node. */
  readonly node?: string | undefined;
  /** Timeout until an attached device appears, milliseconds; default 30,000. */
  readonly deviceWaitMs?: number;
}

/**
 * Creates a driver from a provider's calls. It adds waiting for the device, identity check, formatting, fsck,
 * mounting, growing, and their reverse.
 */
export function createBlockDriver(
  provider: BlockProvider,
  options: BlockDriverOptions = {},
): Driver {
  const { name, expansion, instances, snapshots } = provider;
  const rules = [...provider.parameters, fsTypeRule];
  const host = options.host ?? nodeHost(options.run);
  const { run } = host;
  const lostLinks = new LostLinks(host);
  const validate: Driver['validateParameters'] = (parameters, context) => [
    ...validateByRules(rules, parameters, context),
    ...(provider.validate?.(parameters, context) ?? []),
  ];
  /** Validates resolved parameters before provisioning. */
  const requireResolved = ({ parameters }: CallContext): void =>
    requireParameters(validate(parameters, { level: 'resolved' }));
  const deviceOf = (request: HandleRequest): Promise<string | undefined> =>
    onNode(`find the device of ${request.handle}`, () => provider.devicePath(request));
  /**
   * Whether a detach is from another machine, while this one may have the volume too. Instances are compared, because this
   * node may have had another name.
   */
  const isElsewhere = async (request: HandleRequest): Promise<boolean> => {
    const { node } = options;
    const { accessMode = 'ReadWriteOnce' } = request.volume;
    if (node === undefined || request.node === node || accessMode === 'ReadWriteOnce') return false;
    if (!instances) return true;
    const own = await findInstance({ ...request, node }, instances);
    return own !== undefined && own !== (await findInstance(request, instances));
  };
  const detachUnused = async (request: HandleRequest): Promise<void | Pending> => {
    const device = await deviceOf(request);
    if (device !== undefined && !(await isElsewhere(request))) {
      // Flush writes before the provider detaches the device.
      await run('blockdev', ['--flushbufs', device], request.signal);
      await requireUnused(device, host);
    }
    const instance = instances ? await findInstance(request, instances) : request.node;
    return provider.detach({ ...request, instance });
  };
  /** Ends a detach without an answer, before an attach: it could be executed under the mounted file system. */
  const endedDetach = async (request: BlockAttachRequest): Promise<void | Pending> => {
    if (!(await isUnanswered(request, 'detach')) || (await request.isMounted())) return undefined;
    return detachUnused(request);
  };
  /** Ends an attach without an answer, before a detach: otherwise the volume could become attached after it. */
  const endedAttach = async (
    request: HandleRequest,
  ): Promise<AttachResult | Pending | undefined> => {
    if (provider.endsAttach === true || !(await isUnanswered(request, 'attach'))) return undefined;
    const instance = instances ? await findInstance(request, instances) : request.node;
    if (instance === undefined) return undefined;
    const isMounted = (): Promise<true> => Promise.resolve(true);
    return repeatedAttach(() => provider.attach({ ...request, instance, isMounted }));
  };
  return {
    name,
    ...(provider.provider === undefined ? {} : { provider: provider.provider }),
    capabilities: () => ({
      accessModes: provider.accessModes ?? ['ReadWriteOnce'],
      snapshots: snapshots !== undefined,
      clone: false,
      expand: expansion !== undefined,
      onlineExpand: expansion?.online ?? false,
      blockDevice: true,
      topologyKeys: provider.topologyKeys ?? [],
      sensitiveParameters: sensitiveKeys(rules),
      credentialParameters: credentialKeys(rules),
      ...(provider.wholeCredentials ? { wholeCredentials: provider.wholeCredentials } : {}),
      ...(provider.placeParameters ? { placeParameters: provider.placeParameters } : {}),
      ...(provider.requiredTopologyKeys
        ? { requiredTopologyKeys: provider.requiredTopologyKeys }
        : {}),
      ...(provider.attachLimit === undefined ? {} : { attachLimit: provider.attachLimit }),
      ...(provider.attachedHere ? { adoptsOffline: true } : {}),
      ownsData: true,
    }),
    validateParameters: validate,
    check: (request) => blockProgramReports(run, request),
    async provision(request) {
      requireResolved(request);
      return provider.create(request);
    },
    observe: (request) => provider.observe(request),
    delete: (request) => provider.delete(request),
    async attach(request) {
      const devicePath = await onNode(`find the device of ${request.handle}`, async () =>
        provider.attachedHere?.(request),
      );
      if (devicePath !== undefined) return { devicePath };
      const instance = instances ? await requireInstance(request, instances) : request.node;
      const { target } = request;
      const isMounted = (): Promise<boolean> =>
        target === undefined ? Promise.resolve(false) : lostLinks.isMounted(target);
      const asked = { ...request, instance, isMounted };
      const ended = await endedDetach(asked);
      return isPending(ended) ? ended : provider.attach(asked);
    },
    async detach(request) {
      const ended = await endedAttach(request);
      return isPending(ended) ? ended : detachUnused(request);
    },
    mount: (request) => {
      const { identify, hasSerial } = provider;
      return mountBlockDevice(request, {
        host,
        ...(options.deviceWaitMs === undefined ? {} : { deviceWaitMs: options.deviceWaitMs }),
        ...(identify ? { identify: (device: string) => identify(device, request) } : {}),
        ...(hasSerial ? { hasSerial: (device: string) => hasSerial(device, request) } : {}),
        ...(provider.exactSize === true ? { exactSize: true } : {}),
      });
    },
    async unmount(request) {
      const device = await deviceOf(request);
      const { target, signal } = request;
      if (device === undefined) return lostLinks.unmount(target, signal);
      await unmountTarget(target, signal, host, device);
      lostLinks.forget(target);
    },
    async expand(request) {
      if (!expansion) throw new DriverError('Unsupported', `driver ${name} can't grow volumes`);
      const grown = await expansion.grow(request);
      return typeof grown === 'bigint' ? { sizeBytes: grown, fileSystemPending: true } : grown;
    },
    ...(snapshots
      ? {
          createSnapshot: (request: SnapshotRequest) => snapshots.create(request),
          observeSnapshot: (request: SnapshotHandleRequest) => snapshots.observe(request),
          deleteSnapshot: (request: SnapshotHandleRequest) => snapshots.delete(request),
          async restore(request: RestoreRequest) {
            requireResolved(request);
            return snapshots.restore(request);
          },
        }
      : noSnapshots(name)),
  };
}
