import type { Snapshot } from './kind.js';

/** The status fields of a snapshot that the node with its data reports, as for a volume. */
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
