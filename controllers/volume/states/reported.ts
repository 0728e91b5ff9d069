import type { Snapshot, SnapshotStatus } from '../../snapshot/kind.js';
import type { Volume, VolumeStatus } from '../kind.js';

/**
 * What of a volume's status the node reports that has its data, when it called the driver. All other fields
 * are written by the controllers of the cluster: rights and decisions follow from them.
 */
export const reportedOfVolume: ReadonlySet<string> = new Set([
  'status',
  'handle',
  'sizeBytes',
  'attempts',
  'reason',
  'failureMessage',
  'conditions',
  'attachments',
  'boundClaim',
  'boundNode',
  'formatted',
  'lastOperation',
] satisfies (keyof Volume)[]);

/** The same of a snapshot. */
export const reportedOfSnapshot: ReadonlySet<string> = new Set([
  'status',
  'handle',
  'restoreSize',
  'readyAt',
  'attempts',
  'reason',
  'failureMessage',
  'conditions',
  'lastOperation',
] satisfies (keyof Snapshot)[]);

/** Conditions of a volume that its driver's calls bring about. */
export const reportedConditions: readonly string[] = ['Provisioned', 'Resizing'];

/** What of a change of status its node writes. */
export function reportOf<S extends VolumeStatus | SnapshotStatus>(
  status: S,
  fields: ReadonlySet<string>,
): S {
  return Object.fromEntries(Object.entries(status).filter(([field]) => fields.has(field))) as S;
}
