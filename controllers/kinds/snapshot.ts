import { type ApiObject, type Condition, isDeleting, kindOf, type StatusUpdate } from 'kedge';
import { referencedSecrets } from '../secret/reference.js';
import { type NextSnapshotPhase, type SnapshotPhase, snapshotStates } from '../snapshot/phases.js';
import type { DriverOperation } from './volume.js';

export type { SnapshotPhase };

/** A copy of one volume at one point in time (specification section 2.3). */
export interface Snapshot extends ApiObject {
  readonly namespace: string;
  readonly source: { readonly volume: string };

  readonly status?: SnapshotPhase;
  readonly handle?: string;
  readonly failureMessage?: string;
  /** Size of its source when it was made. */
  readonly sizeBytes?: string;
  readonly driver?: string;
  readonly driverParameters?: Readonly<Record<string, string>>;
  /** Least size of a volume made from it, in bytes. */
  readonly restoreSize?: string;
  readonly reason?: string;
  readonly conditions?: readonly Condition[];
  readonly readyAt?: string;
  readonly attempts?: number;
  /** Class of its source. */
  readonly storageClassName?: string;
  readonly lastOperation?: DriverOperation;
  /** Uids of volumes being made from it: it is not deleted meanwhile. */
  readonly restoresInFlight?: readonly string[];
  /** Place of its source: with the label of a node it is on that node, also when the source is gone. */
  readonly topology?: Readonly<Record<string, string>>;
  /** Uid of the source it is made of: a namesake that came later is another. Never answered. */
  readonly sourceUid?: string;
  /** What the last failure depended on. Never answered. */
  readonly failedWith?: string;
}

export const snapshots = kindOf<Snapshot>()({
  kind: 'Snapshot',
  plural: 'snapshots',
  shortNames: ['snap', 'snapshot'],
  scope: 'Namespaced',
  statusFields: [
    'status',
    'handle',
    'failureMessage',
    'sizeBytes',
    'driver',
    'driverParameters',
    'restoreSize',
    'reason',
    'conditions',
    'readyAt',
    'attempts',
    'storageClassName',
    'lastOperation',
    'restoresInFlight',
    'topology',
    'sourceUid',
    'failedWith',
  ],
  states: snapshotStates,
  initialStatus: { status: 'Pending', attempts: 0 },
  indexes: {
    /** Secrets that its parameters refer to while it is being deleted, `<namespace>/<name>`. */
    neededSecret: (snapshot) =>
      isDeleting(snapshot) ? referencedSecrets(snapshot.driverParameters, snapshot.namespace) : [],
    storageClass: ({ storageClassName }) => (storageClassName ? [storageClassName] : []),
    /** `<namespace>/<volume>` */
    sourceVolume: ({ namespace, source }) => [`${namespace}/${source.volume}`],
  },
  columns: [
    { header: 'NAME', value: (o) => o.name },
    { header: 'VOLUME', value: (o) => o.source.volume },
    { header: 'STATUS', value: (o) => o.status },
    { header: 'SIZE', value: (o) => o.restoreSize },
    { header: 'READY', value: (o) => o.readyAt },
    { header: 'DRIVER', value: (o) => o.driver, wide: true },
    { header: 'HANDLE', value: (o) => o.handle, wide: true },
    { header: 'REASON', value: (o) => o.reason, wide: true },
  ],
});

type Update = StatusUpdate<Snapshot, (typeof snapshots)['statusFields'][number]>;

/** A change of some status fields of a snapshot; its phase comes out of the table. */
export type SnapshotStatus = Omit<Update, 'status'> & { readonly status?: NextSnapshotPhase };
