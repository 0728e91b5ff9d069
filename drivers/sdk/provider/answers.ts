import type { Pending } from '../contract/operations.js';
import { DriverError, type DriverErrorKind } from '../errors/errors.js';
import { operationUnobserved } from '../messages/driver-messages.js';
import type { Observed, OperationState } from './await-operation.js';

/** The resource does not exist. */
export const absent: Observed<never> = { type: 'absent' };

/** An operation in progress creates or blocks the resource. */
export const underWay: Observed<never> = { type: 'underWay' };

/** The resource exists, with this result. */
export function done<R>(result: R): Observed<R> {
  return { type: 'done', result };
}

/** The answer of a call that is repeated after a delay. */
export function notYet(pollAfterMs: number): Pending {
  return { type: 'pending', pollAfterMs };
}

/**
 * Errors of the request for a creation after which a resource may exist. A refusal by a rate limit is none of them: the
 * provider executed nothing, and the client repeats no request by itself.
 */
export const uncertainCreation: readonly DriverErrorKind[] = [
  'Timeout',
  'Unavailable',
  'AlreadyExists',
];

/** Whether an error is a DriverError of a kind. */
export function isKind(error: unknown, kind: DriverErrorKind): boolean {
  return error instanceof DriverError && error.kind === kind;
}

/**
 * The state of an operation after the error of a poll: `unknown` if the provider no longer has its record.
 * @param label the operation in the message, such as `action 12`
 * @throws DriverError Timeout if the credential does not permit the poll, because the outcome is unknown then; else `thrown`
 */
export function stateAfter(thrown: unknown, label: string, operation: string): OperationState {
  const { kind, message } = DriverError.from(thrown);
  if (kind === 'NotFound') return { type: 'unknown' };
  if (kind !== 'CredentialsRejected' && kind !== 'PermissionDenied') throw thrown;
  throw new DriverError('Timeout', `${label} ${operationUnobserved.format()} ${message}`, {
    operation,
  });
}
