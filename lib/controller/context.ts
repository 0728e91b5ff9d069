import type { Logger } from '../base/index.js';
import type { ObjectKey } from '../object/index.js';
import type { Cause } from './causes.js';
import type { Json } from './journal.js';
import type { Result } from './result.js';
import type { Transaction } from './transaction.js';

/** What a reconciler is given: a name, never the event that woke it. */
export interface Request {
  readonly key: ObjectKey;
  /** Aborts at the time limit and when the controller stops. */
  readonly signal: AbortSignal;
  readonly logger: Logger;
  /** Failures in a row before this run. */
  readonly failures: number;
  /** Number of this run, unique in the process; in log lines and traces. */
  readonly run: number;
  /** What woke this run; for log lines and people, not for decisions. */
  readonly causes: readonly Cause[];
}

/** What a reconciler of a controller with a store is given. */
export interface ReconcileContext extends Request {
  /**
   * Runs `work` and commits what it gathered, together with the versions it read; again when
   * somebody else was faster, so `work` must only read and gather. Results of effects are forgotten
   * with the commit, and a {@link Result} that `work` gives back is remembered with it. The
   * controller is not woken by what it writes here.
   * @throws StatusError Aborted when it loses again and again, or as the store says.
   */
  txn<R>(work: (transaction: Transaction) => R | Promise<R>): Promise<R>;
  /**
   * An external call that must not happen twice: its intent is durable before, its result after.
   * When this process dies in between, the next run calls again with the same idempotency key; when
   * the result was written, it is given without a call until a `txn` of this key commits.
   * @param name unique within one key's reconcile
   */
  effect<R extends Json>(name: string, call: (idempotencyKey: string) => Promise<R>): Promise<R>;
}

/** Drives one object towards its desired state. Must be idempotent and level-triggered. */
export type Reconciler<C extends Request = Request> = (context: C) => Promise<Result>;
