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

/** The argument of a reconciler: a key, not the event that triggered the run. */
export interface Request {
  readonly key: ObjectKey;
  /** Aborts at the time limit and when the controller stops. */
  readonly signal: AbortSignal;
  readonly logger: Logger;
  /** Failures in a row before this run. */
  readonly failures: number;
  /** Number of this run, unique among controllers that share a `CauseRegistry`; in log lines and traces. */
  readonly run: number;
  /** The changes that triggered this run, for logs and traces, not for decisions. */
  readonly causes: readonly Cause[];
}

/** The argument of a reconciler of a controller with a store. */
export interface ReconcileContext extends Request {
  /**
   * Runs `work` and commits the collected writes if its reads are still valid. After a conflict `work` runs again, so
   * it must have no other side effects. The commit also removes the records of effects whose outcomes this run
   * received, and stores the {@link Result} that `work` returns. Updates of objects that the work read do not queue the
   * controller's own key; creations and deletions do.
   * @throws StatusError Aborted after repeated conflicts, FailedPrecondition (EffectPending) when it removes a
   * finalizer of an object whose effects are not finished, or as the store says.
   */
  txn<R>(work: (transaction: Transaction) => R | Promise<R>): Promise<R>;
  /**
   * An external call for `object` that must not happen twice: its intent is durable before the call, its result
   * after. After a crash in between, the next run calls again with the same idempotency key. A stored result is
   * returned without a call until a `txn` of a run that received it commits.
   *
   * The record belongs to the object and is named by its uid: another controller that calls an effect of this name
   * continues it, and an object that is created again under the name starts without records.
   * @param name unique among the effects of the object
   * @throws what `call` throws; StatusError Aborted (EffectTakenOver); TypeError if the effect was started as an
   * operation
   */
  effect<T extends ApiObject, R extends Json>(
    kind: Kind<T>,
    object: T,
    name: string,
    call: EffectCall<R>,
  ): Promise<R>;
  /**
   * Like the other overload, for an asynchronous operation. The id that `start` returns is durable
   * before the first poll, so that the operation is polled after a restart and not started again
   * while its id is known. Each call polls at most once: return a pending outcome from the
   * reconcile to free the worker until the next poll.
   * @throws what `start` and `poll` throw, and TypeError for an invalid answer: the operation is then unchanged;
   * StatusError Aborted (EffectTakenOver)
   */
  effect<T extends ApiObject, R extends Json>(
    kind: Kind<T>,
    object: T,
    name: string,
    operation: EffectOperation<R>,
  ): Promise<EffectOutcome<R>>;
  /** Operation ids for `object`, for code that starts and polls operations itself. */
  operations<T extends ApiObject>(kind: Kind<T>, object: T): OperationIds;
}

/**
 * Brings the object of a key closer to its desired state. It must be idempotent and level-triggered: it decides by the
 * current state, not by the event that queued the key.
 */
export type Reconciler<C extends Request = Request> = (context: C) => Promise<Result>;
