import { hasCode, type StatusError } from '../../base/index.js';

/** How often a read that met another store, or a paged list that expired, is started again. */
export const restartsMax = 3;

/** Whether a read must be restarted, because its position is invalid. */
export function isGone(error: unknown): error is StatusError {
  return hasCode(error, 'OutOfRange');
}
