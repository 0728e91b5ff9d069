/** The JSON type of an effect's result. */
export type Json =
  | null
  | boolean
  | number
  | string
  | readonly Json[]
  | { readonly [key: string]: Json };

/** A call that is complete when it answers. It must be idempotent for the same key. */
export type EffectCall<R extends Json> = (idempotencyKey: string) => Promise<R>;

/** Still in progress: poll again after `pollAfterMs`, at least 100 milliseconds. */
export interface EffectPending {
  readonly type: 'pending';
  readonly pollAfterMs: number;
}

interface EffectDone<R extends Json> {
  readonly type: 'done';
  readonly result: R;
}

interface EffectFailed {
  readonly type: 'failed';
  /** CamelCase, for programs. */
  readonly reason: string;
  readonly message: string;
}

/** The answer of {@link EffectOperation.start}. */
export type EffectStart<R extends Json> =
  | {
      readonly type: 'started';
      /** The argument of {@link EffectOperation.poll}; not empty. */
      readonly operationId: string;
      /** Time until the first poll; absent: polled at once. */
      readonly pollAfterMs?: number;
    }
  /** It completed at once, or had completed before. */
  | EffectDone<R>
  /** The operation did not happen, and will not happen under this idempotency key. */
  | EffectFailed;

/** The progress of an operation. */
export type EffectOutcome<R extends Json> =
  | EffectDone<R>
  /** The operation is in progress: return this outcome, or {@link pending}, from the reconcile. */
  | EffectPending
  /** It failed. A transaction removes its record; the next call then starts with a new key. */
  | EffectFailed
  /**
   * The outcome can't be determined: the provider does not know the id. Check which resources exist. The next call
   * starts again with the same key.
   */
  | { readonly type: 'unknown' };

/** An asynchronous external operation, which another process can continue to poll. */
export interface EffectOperation<R extends Json> {
  /**
   * Starts the operation. Called again with the same key after a crash or a lost answer, it must find the operation
   * that it started before. A throw means that it is unknown whether it started.
   */
  start(idempotencyKey: string): Promise<EffectStart<R>>;
  /** Queries its state once, without waiting for its end. A throw says nothing about the operation. */
  poll(operationId: string): Promise<EffectOutcome<R>>;
}

/** Ids of operations in progress at a provider, for one object; they survive a restart. */
export interface OperationIds {
  /** The id that was set under this name; undefined when there is none. */
  get(name: string): Promise<string | undefined>;
  /**
   * Stores an id; resolves once it is durable. It counts as a pending effect of the object until it is cleared.
   * @throws TypeError for an empty id
   */
  set(name: string, operationId: string): Promise<void>;
  /** Removes an id after its operation ended with any outcome. No-op without one. */
  clear(name: string): Promise<void>;
}

/** Minimum delay between two polls, milliseconds. */
export const pollAfterMinMs = 100;

/** The problem of a poll interval; undefined if it is valid. */
export function pollAfterProblem(pollAfterMs: unknown): string | undefined {
  const valid = typeof pollAfterMs === 'number' && Number.isFinite(pollAfterMs);
  if (valid && pollAfterMs >= pollAfterMinMs) return undefined;
  return `pending has pollAfterMs ${typeof pollAfterMs === 'number' ? pollAfterMs : shownType(pollAfterMs)}; give milliseconds, a finite number, ${pollAfterMinMs} or more`;
}

type Answer = EffectStart<Json> | EffectOutcome<Json>;
type Step = 'start' | 'poll';

const answers: Readonly<Record<Step, readonly string[]>> = {
  start: ['started', 'done', 'failed'],
  poll: ['done', 'pending', 'failed', 'unknown'],
};

/**
 * Returns the answer of a step if it is valid, for callers that bypass the types: an invalid answer
 * must not be stored.
 * @throws TypeError that names the effect, the step and the problem
 */
export function requireAnswer<A extends Answer>(effect: string, step: Step, answer: A): A {
  const problem = problemOf(step, answer);
  if (problem === undefined) return answer;
  throw new TypeError(`effect "${effect}": ${step} ${problem}`);
}

/** Describes the type of a value. Values are not quoted, because answers may contain secrets. */
function shownType(value: unknown): string {
  if (value === null || value === undefined) return String(value);
  if (Array.isArray(value)) return 'a list';
  if (value === '') return 'an empty text';
  return typeof value === 'string' ? 'a text' : `a value of type ${typeof value}`;
}

function problemOf(step: Step, answer: Answer | undefined): string | undefined {
  if (!answer || !answers[step].includes(answer.type))
    return `answered ${shownType(answer)}; give an object whose type is ${answers[step].join(', ')}`;
  if (answer.type === 'pending') return pollAfterProblem(answer.pollAfterMs);
  if (answer.type !== 'started') return undefined;
  if (typeof answer.operationId !== 'string' || answer.operationId === '')
    return `returned as operation id ${shownType(answer.operationId)}; return a non-empty string`;
  return answer.pollAfterMs === undefined ? undefined : pollAfterProblem(answer.pollAfterMs);
}
