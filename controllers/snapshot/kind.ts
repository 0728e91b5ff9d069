import { isDeleting, kindOf, type StatusUpdate } from 'kedge/objects';
import { type Snapshot, snapshotSchema } from '@kedge/api/kinds';
import { secretsOfAnyDriver } from '../references/needed-parameters.js';
import type { Reason } from '../reasons/index.js';
import { type NextSnapshotPhase, snapshotStates } from './phases.js';

export type { Snapshot, SnapshotPhase } from '@kedge/api/kinds';

/** The kind Snapshot. */
export const snapshots = kindOf<Snapshot>()({
  ...snapshotSchema,
  states: snapshotStates,
  indexes: {
    /** Secrets that its deletion may need without its class, with any driver, `<namespace>/<name>`. */
    neededSecret: (snapshot) => (isDeleting(snapshot) ? secretsOfAnyDriver(snapshot) : []),
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

/** A change of some status fields of a snapshot; its phase must come from the table of transitions. */
export type SnapshotStatus = Omit<Update, 'status' | 'reason'> & {
  readonly status?: NextSnapshotPhase;
  readonly reason?: Reason;
};
