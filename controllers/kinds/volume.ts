import {
  type ApiObject,
  type Condition,
  isDeleting,
  keyString,
  kindOf,
  type StatusUpdate,
} from 'kedge';
import type { AccessMode } from '@kedge/driver-sdk';
import { referencedSecrets } from '../secret/reference.js';
import { type NextVolumePhase, type VolumePhase, volumeStates } from '../volume/phases.js';

export type { AccessMode };

/** What happens to the data when the volume is no longer wanted. */
export type ReclaimPolicy = 'retain' | 'delete';

export type { VolumePhase };

/** A claim on a volume, made before the driver is called, so that two claims can't win. */
export interface Attachment {
  /** `<namespace>/<instance>` */
  readonly claim: string;
  readonly node: string;
  /** `Detaching`: being taken away by hand, by the volume controller. */
  readonly state: 'Reserved' | 'Attached' | 'Detaching';
  readonly devicePath?: string;
  readonly attachedAt?: string;
}

/** The last call of a driver: what was asked, what came of it, when it is made again. */
export interface DriverOperation {
  readonly call: string;
  readonly startedAt: string;
  /** `Succeeded`, or the class of the error. */
  readonly outcome: string;
  readonly message: string;
  /** Empty when it is not made again by itself. */
  readonly nextTryAt: string;
}

/** A unit of durable storage (specification section 2.2). */
export interface Volume extends ApiObject {
  readonly namespace: string;
  readonly storageClassName: string;
  readonly size: string;
  readonly accessMode: AccessMode;
  readonly reclaimPolicy?: ReclaimPolicy;
  readonly parameters?: Readonly<Record<string, string>>;
  /** Where the content comes from; absent: the volume is empty. */
  readonly source?: { readonly snapshot: string };

  readonly status?: VolumePhase;
  readonly handle?: string;
  readonly boundClaim?: string;
  readonly boundNode?: string;
  /** `<namespace>/<service>` */
  readonly ownerService?: string;
  readonly failureMessage?: string;
  readonly attempts?: number;
  readonly driverParameters?: Readonly<Record<string, string>>;
  readonly sizeBytes?: string;
  readonly reason?: string;
  readonly conditions?: readonly Condition[];
  readonly attachments?: readonly Attachment[];
  readonly driver?: string;
  readonly effectiveReclaimPolicy?: ReclaimPolicy;
  /** A block device was formatted once: it never is again. */
  readonly formatted?: boolean;
  /** Node labels it was provisioned for. */
  readonly topology?: Readonly<Record<string, string>>;
  readonly lastOperation?: DriverOperation;
  /** Uids of snapshots being made: nothing is taken away meanwhile. */
  readonly snapshotsInFlight?: readonly string[];
  /** Deleted before it was usable: there is no data that a policy could retain. Never answered. */
  readonly neverUsed?: boolean;
  /** When the provider was first seen without it; a second look decides. Never answered. */
  readonly missingSince?: string;
  /** What the last failure depended on: when it differs the volume is tried again. Never answered. */
  readonly failedWith?: string;
}

const label = '[a-z0-9](?:[-a-z0-9]{0,61}[a-z0-9])?';
const reference = new RegExp(`^(${label})(?:\\.(${label})\\.svc)?$`);

/**
 * An object as others name it: bare in the namer's namespace, `<name>.<namespace>.svc` in another
 * (specification section 2.4). Undefined when it is neither.
 */
export function referredKey(
  text: string,
  namespace: string,
): { readonly namespace: string; readonly name: string } | undefined {
  const match = reference.exec(text);
  if (!match?.[1]) return undefined;
  return { namespace: match[2] ?? namespace, name: match[1] };
}

/** The snapshot that a volume is made from, if it is. */
export function sourceSnapshot(
  volume: Pick<Volume, 'namespace' | 'source'>,
): { readonly namespace: string; readonly name: string } | undefined {
  return volume.source && referredKey(volume.source.snapshot, volume.namespace);
}

/**
 * What precedes the ordinal in a name like those of replicas' volumes (`data-db-0`), with the namespace:
 * `<namespace>/data-db`. Undefined for other names.
 */
export function replicaName({
  namespace,
  name,
}: Pick<Volume, 'namespace' | 'name'>):
  | { readonly stem: string; readonly ordinal: number }
  | undefined {
  const match = /^(.+)-(0|[1-9]\d{0,8})$/.exec(name);
  if (!match) return undefined;
  return { stem: `${namespace}/${match[1]}`, ordinal: Number(match[2]) };
}

export const volumes = kindOf<Volume>()({
  kind: 'Volume',
  plural: 'volumes',
  shortNames: ['vol', 'volume'],
  scope: 'Namespaced',
  statusFields: [
    'status',
    'handle',
    'boundClaim',
    'boundNode',
    'ownerService',
    'failureMessage',
    'attempts',
    'driverParameters',
    'sizeBytes',
    'reason',
    'conditions',
    'attachments',
    'driver',
    'effectiveReclaimPolicy',
    'failedWith',
    'formatted',
    'topology',
    'lastOperation',
    'snapshotsInFlight',
    'neverUsed',
    'missingSince',
  ],
  states: volumeStates,
  initialStatus: { status: 'Pending', attempts: 0 },
  indexes: {
    storageClass: (volume) => [volume.storageClassName],
    /** `<namespace>/<service>` of the service that made it. */
    ownerService: ({ ownerService }) => (ownerService ? [ownerService] : []),
    /** `<namespace>/<snapshot>` */
    sourceSnapshot: (volume) => {
      const key = sourceSnapshot(volume);
      return key ? [keyString(key)] : [];
    },
    /** Secrets that its parameters refer to while it is being deleted, `<namespace>/<name>`. */
    neededSecret: (volume) =>
      isDeleting(volume)
        ? referencedSecrets({ ...volume.driverParameters, ...volume.parameters }, volume.namespace)
        : [],
    /** See {@link replicaName}. */
    replicaStem: (volume) => {
      const replica = replicaName(volume);
      return replica ? [replica.stem] : [];
    },
  },
  columns: [
    { header: 'NAME', value: (o) => o.name },
    { header: 'CLASS', value: (o) => o.storageClassName },
    { header: 'STATUS', value: (o) => o.status },
    { header: 'SIZE', value: (o) => o.size },
    { header: 'MODE', value: (o) => o.accessMode },
    { header: 'CLAIM', value: (o) => o.boundClaim },
    { header: 'HANDLE', value: (o) => o.handle, wide: true },
    { header: 'REASON', value: (o) => o.reason, wide: true },
  ],
});

type Update = StatusUpdate<Volume, (typeof volumes)['statusFields'][number]>;

/** A change of some status fields of a volume; its phase comes out of the table. */
export type VolumeStatus = Omit<Update, 'status'> & { readonly status?: NextVolumePhase };
