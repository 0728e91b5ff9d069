import {
  backoffDelayMs,
  type Clock,
  hasCode,
  messageOf,
  type Random,
  sleep,
  StatusError,
} from '../../base/index.js';
import type { ObjectStore, Operation, OperationResult } from '../../store/index.js';
import type { CallContext } from '../api/call.js';
import type { Judgement } from './judgement.js';
import type { Admission } from './admission.js';

/** A judgement that allowed what it judged, before it is stored. */
export interface PendingCommit {
  readonly subject: string;
  /** What is written; the checks of what the judgement looked at are not among them. */
  readonly operations: readonly Operation[];
  /** 1 for the first judgement of a request. */
  readonly attempt: number;
}

/** What judged writes are made with. */
export interface JudgedWritesOptions {
  readonly store: ObjectStore;
  readonly admission: Admission;
  readonly clock: Clock;
  readonly random: Random;
  /** Awaited between a judgement and its commit; for tests of what happens in between. */
  readonly beforeCommit?: ((pending: PendingCommit) => Promise<void>) | undefined;
}

/** What came of a judgement: an answer as it is, or writes to store and the answer from their results. */
export type Verdict<R> =
  | { readonly type: 'answer'; readonly answer: R }
  | {
      readonly type: 'commit';
      readonly operations: readonly Operation[];
      answer(results: readonly OperationResult[]): R;
    };

const attemptsMax = 12;
const waits = { baseMs: 1, maxMs: 200, jitter: 0.5 };
const retryAfterMs = 1_000;

/**
 * Stores what a judgement allowed in one transaction with checks of all that it looked at. Where these
 * do not hold any more the request is judged again from the start, a bounded number of times.
 */
export class JudgedWrites {
  readonly #options: JudgedWritesOptions;

  constructor(options: JudgedWritesOptions) {
    this.#options = options;
  }

  /**
   * @param judge decides by what it reads through the judgement that it is given, and by nothing else; it
   * may run several times
   * @throws StatusError what `judge` throws; Aborted (Contention) when what it looked at changed each time
   */
  async run<R>(
    context: Pick<CallContext, 'identity' | 'signal'>,
    judge: (judgement: Judgement) => Promise<Verdict<R>>,
  ): Promise<R> {
    const { store, admission, clock, random, beforeCommit } = this.#options;
    const { identity } = context;
    for (let attempt = 1; ; attempt += 1) {
      const judgement = admission.judgement(identity);
      const verdict = await judge(judgement);
      if (verdict.type === 'answer') return verdict.answer;
      const { operations } = verdict;
      await beforeCommit?.({ subject: identity.subject, operations, attempt });
      const checks = judgement.checks();
      try {
        const results = await store.transact([...checks, ...operations]);
        return verdict.answer(results.slice(checks.length));
      } catch (error) {
        if (!isContention(error)) throw error;
        // Asked for only here: the signal of a short call is never made.
        if (attempt >= attemptsMax || context.signal.aborted) throw contended(error, attempt);
      }
      await sleep(clock, backoffDelayMs(waits, attempt - 1, random), context.signal);
      // What was in the way may be on its way to the disk: the next judgement is to see it.
      await store.transact([]);
    }
  }
}

/**
 * Whether something changed between judgement and commit: a check or the guard of a write failed, what
 * one is about is gone, or what was judged to be new exists by now.
 */
function isContention(error: unknown): error is StatusError {
  return hasCode(error, 'Aborted') || hasCode(error, 'NotFound') || hasCode(error, 'AlreadyExists');
}

function contended(cause: StatusError, attempts: number): StatusError {
  return new StatusError({
    code: 'Aborted',
    reason: 'Contention',
    message: `the write was judged ${attempts} times, and each time something that it depends on changed before it was stored; the last time: ${messageOf(cause)}. Try again`,
    ...(cause.resource ? { resource: cause.resource } : {}),
    retryAfterMs,
    cause,
  });
}
