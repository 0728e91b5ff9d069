import type { Snapshot, SnapshotStatus } from '../../snapshot/kind.js';
import type { Volume, VolumeStatus } from '../kind.js';

/**
 * The status fields that a volume's node reports after driver calls. Only controllers of the cluster write the
 * other fields, because rights and decisions depend on them.
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

/** Conditions of a volume that result from driver calls. */
export const reportedConditions: readonly string[] = ['Provisioned', 'Resizing'];

/** The part of a status change that its node writes. */
export function reportOf<S extends VolumeStatus | SnapshotStatus>(
  status: S,
  fields: ReadonlySet<string>,
): S {
  return Object.fromEntries(Object.entries(status).filter(([field]) => fields.has(field))) as S;
}
