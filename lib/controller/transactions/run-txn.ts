import type { ObjectStore } from '../../store/index.js';
import { effectOperations } from './effect-guard.js';
import { runTransaction } from './transaction.js';
import type { Transaction } from './transaction-contract.js';

/**
 * Like `txn` of a reconcile, for work outside of one: a heartbeat, a separate queue, a shutdown.
 * The collected writes are committed if the reads are still valid. After a conflict `work` runs
 * again, so it must have no other side effects. Unlike in a reconcile, its writes queue keys of
 * every watching controller, including the caller's.
 * @throws StatusError Aborted after repeated conflicts, FailedPrecondition (EffectPending) if it
 * removes a finalizer of an object whose effects are not finished, and the errors of the store.
 *
 * @example
 * await runTxn(store, async (txn) => {
 *   const lamp = await txn.get(lamps, key);
 *   if (lamp?.on === false) txn.updateStatus(lamps, key, { on: true });
 * });
 */
export function runTxn<R>(
  store: ObjectStore,
  work: (transaction: Transaction) => R | Promise<R>,
): Promise<R> {
  return runTransaction(
    store,
    work,
    (_result, gathered) => effectOperations(store, gathered, []),
    () => undefined,
  );
}
