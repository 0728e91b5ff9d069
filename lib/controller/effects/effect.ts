/** JSON that an effect may answer. */
export type Json =
  | null
  | boolean
  | number
  | string
  | readonly Json[]
  | { readonly [key: string]: Json };

/** A call that is over when it answers. Repeated with the same key it must do nothing twice. */
export type EffectCall<R extends Json> = (idempotencyKey: string) => Promise<R>;

/** Not over yet: ask again after `pollAfterMs`, which is at least 100 milliseconds. */
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

/** What {@link EffectOperation.start} answers. */
export type EffectStart<R extends Json> =
  | {
      readonly type: 'started';
      /** What {@link EffectOperation.poll} is called with; not empty. */
      readonly operationId: string;
      /** Absent: polled at once. */
      readonly pollAfterMs?: number;
    }
  /** It was over at once, or had been done before. */
  | EffectDone<R>
  /** It did not happen, and will not under this idempotency key. */
  | EffectFailed;

/** How far an operation is. */
export type EffectOutcome<R extends Json> =
  | EffectDone<R>
  /** Return it, or {@link pending}, from the reconcile. */
  | EffectPending
  /** It did not happen. A transaction forgets it; the next call then starts under a new key. */
  | EffectFailed
  /**
   * Nobody can say what became of it: the provider does not know the id any more. Look at what is
   * there. The next call starts again under the same key.
   */
  | { readonly type: 'unknown' };

/** An external call that goes on after it has answered, and that another process may follow up. */
export interface EffectOperation<R extends Json> {
  /**
   * Begins the operation. Called again with the same key, after a crash or a lost answer, it must
   * find what it began before. A throw means that nobody knows whether it began.
   */
  start(idempotencyKey: string): Promise<EffectStart<R>>;
  /** Asks once how far it is, without waiting for its end. A throw says nothing about the operation. */
  poll(operationId: string): Promise<EffectOutcome<R>>;
}

/** Ids of operations under way at a provider, for one object; they survive a restart. */
export interface OperationIds {
  /** The id that was set under this name; undefined when there is none. */
  get(name: string): Promise<string | undefined>;
  /** Resolves once the id is durable. It counts as a pending effect of the object until it is cleared. */
  set(name: string, operationId: string): Promise<void>;
  /** The operation is over, whatever came of it. No-op when there is none. */
  clear(name: string): Promise<void>;
}

/** Shortest wait between two polls, milliseconds. */
export const pollAfterMinMs = 100;

/** Why this is no wait between two polls; undefined when it is one. */
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
 * The answer of a step, as given. JavaScript and casts get past the types, and a wrong answer must
 * not be stored.
 * @throws TypeError naming the effect, the step and what is wrong
 */
export function requireAnswer<A extends Answer>(effect: string, step: Step, answer: A): A {
  const problem = problemOf(step, answer);
  if (problem === undefined) return answer;
  throw new TypeError(`effect "${effect}": ${step} ${problem}`);
}

/** Of which type a value is. Answers are not quoted: they may hold what the provider keeps secret. */
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
    return `gave as operation id ${shownType(answer.operationId)}; give a text that is not empty`;
  return answer.pollAfterMs === undefined ? undefined : pollAfterProblem(answer.pollAfterMs);
}
