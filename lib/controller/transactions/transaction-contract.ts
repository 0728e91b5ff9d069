import type {
  ApiObject,
  Kind,
  NewObject,
  ObjectKey,
  Scope,
  StatusUpdate,
} from '../../object/index.js';
import type { ReadSelection, Watching } from './transaction-reads.js';

/**
 * The reads and writes of one attempt of `txn` (in a reconcile) or `runTxn`.
 *
 * Guarantees:
 * - Nothing is written before the commit. All writes are committed at one revision, or none.
 * - The commit fails if something that was read has changed, as far as it is watched; then the work runs again.
 * - `get` of an object that was read returns the first read.
 *
 * Ordering: writes apply in the order of the calls. Reads are at the revision of their call; the commit checks all of
 * them at its own.
 *
 * Errors: reads reject as those of the store. `update` throws InvalidArgument for an object without uid or version,
 * `delete` and `forgetEffect` for one without uid. Other refusals, such as AlreadyExists, reject the promise of `txn`
 * or `runTxn`, and repeated conflicts reject it with Aborted.
 *
 * Caveats: reads do not show the writes of the transaction. The work may run several times, so it must have no other
 * side effects. If there is nothing to write, the reads are not checked. Not every list detects new matches: see
 * {@link Transaction.list}.
 *
 * @example
 * import { runTxn } from 'kedge';
 *
 * const key = { name: 'hall' };
 * await runTxn(store, async (txn) => {
 *   const lamp = await txn.get(lamps, key);
 *   if (lamp?.on) txn.updateStatus(lamps, key, { lit: true });
 *   else if (lamp) txn.delete(lamps, lamp);
 * });
 */
export interface Transaction {
  /**
   * Reads the stored object. The commit fails if the object was replaced, if its watched part changed, or if an absent
   * object exists by then. Default of `watching`: `version`. Reading an object again returns the first read and extends
   * the watched part.
   *
   * @example
   * // A heartbeat of the node does not make the work run again.
   * const node = await txn.get(nodes, key, { watching: 'generation' });
   */
  get<T extends ApiObject, S extends string = string>(
    kind: Kind<T, S>,
    key: ObjectKey,
    options?: { readonly watching?: Watching<NoInfer<S>> },
  ): Promise<T | undefined>;
  /**
   * Lists the stored objects of a kind at one revision. The commit fails if one of them was deleted or its watched
   * part changed.
   *
   * In a namespace, under a value of an index, and for kinds with `rarelyWritten`, it also fails if an object there
   * was created, deleted or changed outside of its status, so that new matches are detected. A list of all objects
   * of another kind does not detect them. Where a list by labels or fields is watched by its `generation`, changes
   * of objects that do not match count too.
   *
   * Each watched object is a check of the transaction (`limits.transactionChecksMax`); a fully checked list that
   * watches the `generation` counts as one.
   */
  list<T extends ApiObject, S extends string = string, I extends string = string>(
    kind: Kind<T, S, I>,
    selection?: ReadSelection<NoInfer<I> | 'namespace', NoInfer<S>>,
  ): Promise<readonly T[]>;
  create<T extends ApiObject, N extends Scope, C>(
    kind: Kind<T, string, string, N, C>,
    object: NoInfer<NewObject<T, N, C>>,
  ): void;
  /**
   * Replaces everything except status. The commit fails if the stored object no longer has the
   * version of `object`, even if this transaction read a newer one.
   */
  update<T extends ApiObject>(kind: Kind<T>, object: T): void;
  /** Like `update`, for any stored version. */
  overwrite<T extends ApiObject, C>(
    kind: Kind<T, string, string, Scope, C>,
    object: NoInfer<NewObject<T, Scope, C>>,
  ): void;
  /** Sets these status fields and keeps the others. It is not guarded by a version. */
  updateStatus<T extends ApiObject, S extends string>(
    kind: Kind<T, S>,
    key: ObjectKey,
    status: StatusUpdate<T, S>,
  ): void;
  /** Deletes this object. The commit fails if another object has its name by then. */
  delete<T extends ApiObject>(kind: Kind<T>, object: T): void;
  /** Deletes any object with this name. */
  deleteByName<T extends ApiObject>(kind: Kind<T>, key: ObjectKey): void;
  /**
   * Removes the record of an effect of this object in any state: the caller has verified the
   * outcome, for example that nothing was created. No-op without a record.
   */
  forgetEffect<T extends ApiObject>(kind: Kind<T>, object: T, name: string): void;
}
