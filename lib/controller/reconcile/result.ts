import { StatusError } from '../../base/index.js';
import { isPriority, priorityMax } from '../../workqueue/index.js';
import { type EffectPending, pollAfterProblem } from '../effects/effect.js';

/** The result of a reconcile. A thrown error is a `retry`. */
export type Result =
  | { readonly type: 'done' }
  | {
      readonly type: 'requeueAfter';
      /** Finite, 0 or more; it may exceed the 24.8 days of a Node.js timer. */
      readonly delayMs: number;
      /** Priority of the next run; absent: the present priority of the key. */
      readonly priority?: number;
      /** false: the delay is never stored, because the first run after a restart sets another. */
      readonly isStored?: false;
    }
  /** An external operation is in progress; see `effect`. */
  | EffectPending
  | { readonly type: 'retry'; readonly error: unknown }
  | { readonly type: 'fail'; readonly reason: string; readonly message: string };

/** Returns the result of a run after which nothing is to be done until something changes. */
export function done(): Result {
  return { type: 'done' };
}

/**
 * Returns a result that runs the key again after `delayMs`, without counting a failure. With a store, delays of a
 * minute or more survive a restart, unless `timers` is `memory` or the result has `isStored: false`. A delay that is
 * negative or not finite, and an invalid priority, make the run a `retry`.
 */
export function requeueAfter(delayMs: number, priority?: number): Result {
  return { type: 'requeueAfter', delayMs, ...(priority === undefined ? {} : { priority }) };
}

/**
 * Returns the result of a run whose external operation is in progress: the key runs again after `pollAfterMs`, 100 or
 * more. The run counts neither as a failure nor as an attempt. After a restart the key is queued at that time if it is
 * a minute or more ahead, else at once. Another value makes the run a `retry`.
 */
export function pending(pollAfterMs: number): Result {
  return { type: 'pending', pollAfterMs };
}

/** Returns the result of a transient failure: the key is reconciled again after a backoff. */
export function retry(error: unknown): Result {
  return { type: 'retry', error };
}

/**
 * Returns the result of a run that can't succeed until the object or a watched object changes. It is counted and not
 * retried.
 */
export function fail(reason: string, message: string): Result {
  return { type: 'fail', reason, message };
}

const ways = 'return done(), requeueAfter(ms), pending(ms), retry(error) or fail(reason, message)';

/**
 * Returns the value of a reconciler if it is a {@link Result}, else a `retry` whose error names the
 * problem. Checked at run time for callers that bypass the types: an invalid value must not stop a
 * worker.
 */
export function checkedResult(value: unknown): Result {
  const problem = problemOf(value);
  return problem === undefined ? (value as Result) : retry(invalidResult(problem));
}

/** True for a result of {@link requeueAfter} or {@link pending}, valid or not. */
export function isWait(value: unknown): value is Result & { readonly type: Wait } {
  if (typeof value !== 'object' || value === null || !('type' in value)) return false;
  return (
    (value.type === 'requeueAfter' && 'delayMs' in value) ||
    (value.type === 'pending' && 'pollAfterMs' in value)
  );
}

/**
 * Checks a result.
 * @throws StatusError InvalidArgument for a result that {@link checkedResult} would turn into a retry.
 */
export function requireResult(value: Result): void {
  const problem = problemOf(value);
  if (problem !== undefined) throw invalidResult(problem);
}

type Wait = 'requeueAfter' | 'pending';
type Problem = string | undefined;

const fields: Readonly<Record<Result['type'], (value: Record<string, unknown>) => Problem>> = {
  done: () => undefined,
  retry: () => undefined,
  pending: ({ pollAfterMs }) => pollAfterProblem(pollAfterMs),
  requeueAfter: ({ delayMs, priority }) => {
    if (typeof delayMs !== 'number' || !Number.isFinite(delayMs) || delayMs < 0)
      return `requeueAfter has the delay ${String(delayMs)}; give milliseconds, a finite number, 0 or more`;
    if (priority !== undefined && !isPriority(priority))
      return `requeueAfter has the priority ${JSON.stringify(priority)}; give a whole number from -${priorityMax} to ${priorityMax}`;
    return undefined;
  },
  fail: ({ reason, message }) =>
    typeof reason === 'string' && typeof message === 'string'
      ? undefined
      : 'fail needs a reason and a message, both strings',
};

function problemOf(value: unknown): Problem {
  if (typeof value !== 'object' || value === null)
    return `the reconciler returned ${String(value)}; ${ways}`;
  const { type } = value as { readonly type?: unknown };
  if (typeof type !== 'string' || !Object.hasOwn(fields, type))
    return `the reconciler returned an object of type ${String(type)}; ${ways}`;
  return fields[type as Result['type']](value as Record<string, unknown>);
}

function invalidResult(message: string): StatusError {
  return new StatusError({ code: 'InvalidArgument', reason: 'InvalidResult', message });
}
