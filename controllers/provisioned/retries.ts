import {
  type ApiObject,
  backoffDelayMs,
  type Clock,
  keyOf,
  keyString,
  type Kind,
  type Random,
  type ReconcileContext,
  requeueAfter,
  type Result,
  retry,
  StatusError,
  type StatusUpdate,
  type Transaction,
} from 'kedge';
import { DriverError } from '@kedge/driver-sdk';
import { backoffOf, type ControllerPolicy } from '../policy/policy.js';
import type { CallingProcess } from './calling-process.js';

/**
 * The failure of a driver call, for reports.
 * @throws StatusError of the store, which is not a failure of the volume: the controller's backoff applies
 */
export function driverErrorOf(thrown: unknown): DriverError {
  if (thrown instanceof StatusError) throw thrown;
  return DriverError.from(thrown);
}

/**
 * Milliseconds until a failed call is retried: the backoff for the failures of its key, at least `leastMs` and the
 * delay that the provider requests.
 */
export function retryDelayMs(
  { failures }: ReconcileContext,
  { retryAfterMs = 0 }: DriverError,
  { policy, random }: { readonly policy: ControllerPolicy; readonly random: Random },
  leastMs = 0,
): number {
  const backoffMs = backoffDelayMs(backoffOf(policy, 'driver'), failures, random);
  return Math.max(leastMs, retryAfterMs, backoffMs);
}

/** The result of a reconcile whose call is retried after `delayMs`, or immediately if its inputs change. */
export function callAgain(error: DriverError, delayMs: number): Result {
  const { kind, message } = error;
  const code = 'Unavailable';
  return retry(
    new StatusError({ code, reason: kind, message, retryAfterMs: delayMs, cause: error }),
  );
}

/**
 * The same result, but the key is reconciled after about `ms` at the latest. A retry that is due earlier stays one, so that
 * it comes at the reported time and counts as a failure; a later one is replaced by a reconcile after `ms`. A poll keeps
 * its time.
 */
export function within(result: Result, ms: number): Result {
  switch (result.type) {
    case 'retry': {
      const { error } = result;
      const delayMs = error instanceof StatusError ? (error.retryAfterMs ?? 0) : 0;
      return delayMs > ms ? requeueAfter(ms) : result;
    }
    case 'requeueAfter':
      return result.delayMs > ms ? requeueAfter(ms) : result;
    case 'done':
      return requeueAfter(ms);
    case 'pending':
    case 'fail':
      return result;
  }
}

/**
 * Writes status fields of an object in the version that was read. This does not queue the key: callers requeue
 * explicitly.
 * @param also further writes of the transaction
 * @throws StatusError Aborted if the object changed or was deleted meanwhile
 */
export function writeStatus<T extends ApiObject, S extends string>(
  context: ReconcileContext,
  kind: Kind<T, S>,
  seen: T,
  status: StatusUpdate<T, S>,
  also?: (txn: Transaction) => Promise<void>,
): Promise<void> {
  return context.txn(async (txn) => {
    requireSeen(kind, seen, await txn.get(kind, keyOf(seen)));
    txn.updateStatus(kind, keyOf(seen), status);
    await also?.(txn);
  });
}

/**
 * Checks that the stored object is the version that was read.
 * @throws StatusError Aborted if it differs or was deleted
 */
export function requireSeen<T extends ApiObject>(
  { kind }: Pick<Kind<T>, 'kind'>,
  seen: T,
  current: T | undefined,
): asserts current is T {
  const { uid, resourceVersion } = seen.metadata;
  const now = current?.metadata;
  if (now?.uid === uid && now.resourceVersion === resourceVersion) return;
  throw new StatusError({
    code: 'Aborted',
    reason: 'Conflict',
    message: `${kind} "${keyString(keyOf(seen))}" changed or was deleted since it was read; the reconcile is retried`,
  });
}

/**
 * Checks that this process still calls the driver for the object that was read.
 * @throws StatusError Aborted if another process does, or the object was deleted or recreated
 */
export function requireCallHere<T extends ApiObject>(
  { kind }: Pick<Kind<T>, 'kind'>,
  seen: T,
  current: T | undefined,
  callerOf: (current: T) => CallingProcess,
): void {
  if (current?.metadata.uid === seen.metadata.uid && callerOf(current).type === 'here') return;
  throw new StatusError({
    code: 'Aborted',
    reason: 'Conflict',
    message: `${kind} "${keyString(keyOf(seen))}" has another owner now or was deleted; the reconcile is retried`,
  });
}

/** The time of the next retry, for people. */
export function shownTime(clock: Clock, inMs: number | undefined): string {
  return inMs === undefined ? '' : new Date(clock.now() + inMs).toISOString();
}
