import type { Snapshot } from './kind.js';

/** What of a snapshot's status the node reports that has its data; as of a volume. */
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
