import type { ObjectStore } from '../../store/index.js';
import { effectOperations } from './effect-guard.js';
import { runTransaction } from './transaction.js';
import type { Transaction } from './transaction-contract.js';

/**
 * As `txn` of a reconcile, for work that is no part of one: a heartbeat, a queue of its own, a shutdown. What
 * `work` gathered is committed together with the versions that it read, and `work` runs again when somebody
 * else was faster, so it must only read and gather. Unlike in a reconcile, its writes wake every controller
 * that watches, also the caller's own.
 * @throws StatusError Aborted when it loses again and again, FailedPrecondition (EffectPending) when
 * it removes a finalizer of an object whose effects are not finished, or as the store says.
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
