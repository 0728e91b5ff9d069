import { StatusError } from 'kedge';

/** Reasons of a store that is damaged, as `docs/reference/errors.md` has them. */
const damage = new Set([
  'Damaged',
  'LogHole',
  'LogTailLost',
  'CheckpointMismatch',
  'IndexMismatch',
]);

/** The commands for whoever is sent to a backup, as a line; empty for other errors. */
export function restoreAdvice(error: unknown): string {
  if (!(error instanceof StatusError) || !damage.has(error.reason)) return '';
  return 'With the settings of the daemon: "kedged restore FILE --replace" restores a backup, "kedged salvage" lists what the store still holds.\n';
}
