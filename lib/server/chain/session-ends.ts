import { StatusError } from '../../base/index.js';

/** The end of a stream whose token expires. */
export function expired(): StatusError {
  return new StatusError({
    code: 'Unauthenticated',
    reason: 'TokenExpired',
    message: 'the bearer token has expired; get another one and resume the stream',
  });
}

/** The end of a stream, or the refusal of one, beyond the limit. @param max the number of open streams */
export function tooMany(max: number): StatusError {
  return new StatusError({
    code: 'ResourceExhausted',
    reason: 'TooManyStreams',
    message: `${max} streams are open, which is the limit, and no account has more than this one; close some, or retry later`,
    retryAfterMs: 5_000,
  });
}

/** The end of a stream whose objects were selected for another node. */
export function renarrowed(): StatusError {
  return new StatusError({
    code: 'PermissionDenied',
    reason: 'PermissionDenied',
    message: 'the objects that this account is permitted to access have changed; resume the stream',
  });
}
