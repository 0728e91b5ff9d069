import {
  type ApiObject,
  backoffDelayMs,
  type Clock,
  keyOf,
  keyString,
  type Kind,
  type Random,
  type ReconcileContext,
  type Result,
  retry,
  StatusError,
  type StatusUpdate,
} from 'kedge';
import { DriverError } from '@kedge/driver-sdk';
import { backoffOf, type ControllerPolicy } from '../../policy/policy.js';
import type { Turn } from './turn.js';

/**
 * The failure of a driver, for those that tell of it.
 * @throws StatusError what the store refused: nobody's failure, so the controller's backoff decides
 */
export function driverErrorOf(thrown: unknown): DriverError {
  if (thrown instanceof StatusError) throw thrown;
  return DriverError.from(thrown);
}

/** Milliseconds until a call that failed is made again; it counts the failures of its key so far. */
export function retryDelayMs(
  { failures }: ReconcileContext,
  { retryAfterMs = 0 }: DriverError,
  { policy, random }: { readonly policy: ControllerPolicy; readonly random: Random },
  leastMs = 0,
): number {
  const backoffMs = backoffDelayMs(backoffOf(policy, 'driver'), failures, random);
  return Math.max(leastMs, retryAfterMs, backoffMs);
}

/** The call is made again, not before `delayMs`; a change of what it works on makes it at once. */
export function callAgain(error: DriverError, delayMs: number): Result {
  const { kind, message } = error;
  const code = 'Unavailable';
  return retry(
    new StatusError({ code, reason: kind, message, retryAfterMs: delayMs, cause: error }),
  );
}

/**
 * Writes status fields of an object in the version that was looked at. The key is not woken by it: who
 * has to look again says so.
 * @throws StatusError Aborted when the object changed meanwhile, or is gone
 */
export function writeStatus<T extends ApiObject, S extends string>(
  context: ReconcileContext,
  kind: Kind<T, S>,
  seen: T,
  status: StatusUpdate<T, S>,
): Promise<void> {
  return context.txn(async (txn) => {
    requireSeen(kind, seen, await txn.get(kind, keyOf(seen)));
    txn.updateStatus(kind, keyOf(seen), status);
  });
}

/** @throws StatusError Aborted when what is stored is not what was looked at */
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
    message: `${kind} "${keyString(keyOf(seen))}" was changed since it was looked at; it is looked at again`,
  });
}

/** @throws StatusError Aborted when the object that was looked at is somebody else's by now */
export function requireTurn<T extends ApiObject>(
  { kind }: Pick<Kind<T>, 'kind'>,
  seen: T,
  current: T | undefined,
  turn: (current: T) => Turn,
): void {
  if (current?.metadata.uid === seen.metadata.uid && turn(current).type === 'here') return;
  throw new StatusError({
    code: 'Aborted',
    reason: 'Conflict',
    message: `${kind} "${keyString(keyOf(seen))}" has another owner since it was looked at; it is looked at again`,
  });
}

/** When a call is made again, as it is shown. */
export function shownTime(clock: Clock, inMs: number | undefined): string {
  return inMs === undefined ? '' : new Date(clock.now() + inMs).toISOString();
}
