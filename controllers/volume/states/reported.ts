import type { Volume } from '../kind.js';

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

/** Conditions of a volume that result from driver calls. */
export const reportedConditions: readonly string[] = ['Provisioned', 'Resizing', 'Verified'];
