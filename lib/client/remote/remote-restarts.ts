import { hasCode, type StatusError } from '../../base/index.js';

/** Maximum number of restarts of a read that met another store, or of a paged list that expired. */
export const restartsMax = 3;

/** Whether a read must restart because its position is invalid. */
export function isGone(error: unknown): error is StatusError {
  return hasCode(error, 'OutOfRange');
}
