import type { Logger } from '../../base/index.js';
import type { ApiObject, Kind, ObjectKey } from '../../object/index.js';
import type { Cause } from '../watches/causes.js';
import type {
  EffectCall,
  EffectOperation,
  EffectOutcome,
  Json,
  OperationIds,
} from '../effects/effect.js';
import type { Result } from './result.js';
import type { Transaction } from '../transactions/transaction-contract.js';

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
   * somebody else was faster, so `work` must only read and gather. Outcomes of effects that this run
   * was given are forgotten with the commit, and a {@link Result} that `work` gives back is remembered
   * with it. The controller is not woken by what it writes here.
   * @throws StatusError Aborted when it loses again and again, FailedPrecondition (EffectPending) when
   * it removes a finalizer of an object whose effects are not finished, or as the store says.
   */
  txn<R>(work: (transaction: Transaction) => R | Promise<R>): Promise<R>;
  /**
   * An external call for `object` that must not happen twice: its intent is durable before, its
   * result after. When this process dies in between, the next run calls again with the same
   * idempotency key; when the result was written, it is given without a call until a `txn` of a run
   * that was given it commits.
   *
   * The record belongs to the object and is named by its uid: another controller that calls an effect
   * of this name goes on where this one stopped, and an object made again under the name starts anew.
   * @param name unique among the effects of the object
   * @throws what `call` throws; StatusError Aborted (EffectTakenOver)
   */
  effect<T extends ApiObject, R extends Json>(
    kind: Kind<T>,
    object: T,
    name: string,
    call: EffectCall<R>,
  ): Promise<R>;
  /**
   * As the other form, for an operation that goes on after it was begun. The id that `start` gives is
   * durable before the first poll, so the operation is followed up after a restart and never begun
   * again while its id is known. One call of this polls at most once: return a pending outcome from
   * the reconcile, and it holds no worker until it is asked again.
   * @throws what `start` and `poll` throw: the operation is then as it was before
   */
  effect<T extends ApiObject, R extends Json>(
    kind: Kind<T>,
    object: T,
    name: string,
    operation: EffectOperation<R>,
  ): Promise<EffectOutcome<R>>;
  /** Ids of operations for `object`, for code that begins and polls operations by itself. */
  operations<T extends ApiObject>(kind: Kind<T>, object: T): OperationIds;
}

/** Drives one object towards its desired state. Must be idempotent and level-triggered. */
export type Reconciler<C extends Request = Request> = (context: C) => Promise<Result>;
