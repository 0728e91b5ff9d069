import { StatusError } from 'kedge';

/** Reasons of a damaged store. `docs/reference/errors.md` explains them. */
const damage = new Set([
  'Damaged',
  'LogHole',
  'LogTailLost',
  'CheckpointMismatch',
  'IndexMismatch',
]);

/** The restore commands for a damaged store, as a line; empty for other errors. */
export function restoreAdvice(error: unknown): string {
  if (!(error instanceof StatusError) || !damage.has(error.reason)) return '';
  return 'With the settings of the daemon: "kedged restore FILE --replace" restores a backup, "kedged salvage" lists the objects that can still be read.\n';
}
