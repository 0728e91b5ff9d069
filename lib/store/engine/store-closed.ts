import { StatusError } from '../../base/index.js';

/** The error of a call to a store that was closed: Unavailable, reason StoreClosed. */
export function storeClosed(cause?: unknown): StatusError {
  return new StatusError({
    code: 'Unavailable',
    reason: 'StoreClosed',
    message: 'the store is closed',
    ...(cause !== undefined && { cause }),
  });
}
