import {
  backoffDelayMs,
  type Clock,
  hasCode,
  messageOf,
  type Random,
  sleep,
  StatusError,
} from '../../base/index.js';
import { isPromise, type Later } from '../../base/promises/later.js';
import type { ObjectStore, Operation, OperationResult } from '../../store/index.js';
import type { CallContext } from '../api/call.js';
import type { Validation } from './validation.js';
import type { Admission } from './admission.js';

/** A validated write before it is stored. */
export interface PendingCommit {
  readonly subject: string;
  /** The writes, without the checks of the reads of the validation. */
  readonly operations: readonly Operation[];
  /** 1 for the first attempt of a request. */
  readonly attempt: number;
}

/** Options of validated writes. */
export interface ValidatedWritesOptions {
  readonly store: ObjectStore;
  readonly admission: Admission;
  readonly clock: Clock;
  readonly random: Random;
  /** Awaited between validation and commit, for tests of races. */
  readonly beforeCommit?: ((pending: PendingCommit) => Promise<void>) | undefined;
}

/** The result of a validation: an answer, or writes with a function that creates the answer from their results. */
export type Verdict<R> =
  | { readonly type: 'answer'; readonly answer: R }
  | {
      readonly type: 'commit';
      readonly operations: readonly Operation[];
      answer(results: readonly OperationResult[]): R;
    };

/**
 * Maximum number of validations of a request, the delays between them, and the retry delay for the client after them.
 */
const attemptsMax = 12;
const waits = { baseMs: 1, maxMs: 200, jitter: 0.5 };
const retryAfterMs = 1_000;

/**
 * Stores accepted writes in one transaction with checks of all reads of their validation. If a check fails, the
 * request is validated again from the start, a bounded number of times.
 */
export class ValidatedWrites {
  readonly #options: ValidatedWritesOptions;

  constructor(options: ValidatedWritesOptions) {
    this.#options = options;
  }

  /**
   * Validates a request, commits its writes, and returns its answer.
   * @param validate decides only by reads through the given validation; it may run several times
   * @throws StatusError of `validate` and of the store; Aborted (Contention) if reads changed at each of 12 attempts,
   * or at an attempt after which the call is aborted
   */
  async run<R>(
    context: Pick<CallContext, 'identity' | 'signal'>,
    validate: (validation: Validation) => Later<Verdict<R>>,
  ): Promise<R> {
    const { store, admission, clock, random, beforeCommit } = this.#options;
    const { identity } = context;
    for (let attempt = 1; ; attempt += 1) {
      const validation = admission.validation(identity);
      const validated = validate(validation);
      const verdict = isPromise(validated) ? await validated : validated;
      if (verdict.type === 'answer') return verdict.answer;
      const { operations } = verdict;
      if (beforeCommit) await beforeCommit({ subject: identity.subject, operations, attempt });
      const checks = validation.checks();
      try {
        const results = await store.transact([...checks, ...operations]);
        return verdict.answer(results.slice(checks.length));
      } catch (error) {
        if (!isContention(error)) throw error;
        // The signal is requested only here, so that short calls never create one.
        if (attempt >= attemptsMax || context.signal.aborted) throw contended(error, attempt);
      }
      await sleep(clock, backoffDelayMs(waits, attempt - 1, random), context.signal);
      // The conflicting write may not be durable yet: wait so that the next validation sees it.
      await store.transact([]);
    }
  }
}

/**
 * Whether something changed between validation and commit: a check or guard failed, an object was deleted, or a new
 * object exists by now.
 */
function isContention(error: unknown): error is StatusError {
  return hasCode(error, 'Aborted') || hasCode(error, 'NotFound') || hasCode(error, 'AlreadyExists');
}

function contended(cause: StatusError, attempts: number): StatusError {
  return new StatusError({
    code: 'Aborted',
    reason: 'Contention',
    message: `the write was validated ${attempts} times, and an object that it depends on changed before each commit; the last conflict: ${messageOf(cause)}. Retry the write`,
    ...(cause.resource ? { resource: cause.resource } : {}),
    retryAfterMs,
    cause,
  });
}
