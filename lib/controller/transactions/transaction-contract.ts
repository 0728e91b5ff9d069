import type {
  ApiObject,
  Kind,
  NewObject,
  ObjectKey,
  Scope,
  StatusUpdate,
} from '../../object/index.js';
import type { ReadSelection, Watching } from './transaction-reads.js';

/** Gathers reads and writes of one attempt; nothing is written before it is committed. */
export interface Transaction {
  /**
   * The object as the store has it. Committing fails when by then it is another object, or what is
   * watched of it changed; of one that is not there, when there is one. Reading an object again gives
   * what was read first, and adds to what is watched.
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
   * The objects of a kind as the store has them, all of one revision. Committing fails when by then one
   * of them is gone, or what is watched of it changed.
   *
   * In a namespace, under a value of an index, and for kinds with `rarelyWritten`, it also fails when an
   * object was created, deleted or changed outside of its status there: what comes to match the
   * selectors is noticed. A list of all other objects of a kind does not notice those. Where a list by
   * labels or fields is watched by its `generation`, changes of objects that do not match count too.
   *
   * Each watched object is a check of the transaction (`limits.transactionChecksMax`); a list that is
   * noticed whole and watches the `generation` is one.
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
   * Replaces everything but status. Committing fails when the stored object is not in the version of
   * `object` any more, also when this transaction read a newer one.
   */
  update<T extends ApiObject>(kind: Kind<T>, object: T): void;
  /** As `update`, over whatever version is stored. */
  overwrite<T extends ApiObject, C>(
    kind: Kind<T, string, string, Scope, C>,
    object: NoInfer<NewObject<T, Scope, C>>,
  ): void;
  /** Sets these status fields, keeps the others. */
  updateStatus<T extends ApiObject, S extends string>(
    kind: Kind<T, S>,
    key: ObjectKey,
    status: StatusUpdate<T, S>,
  ): void;
  /** Deletes this object; committing fails when another one has its name by then. */
  delete<T extends ApiObject>(kind: Kind<T>, object: T): void;
  /** Deletes whatever object has this name. */
  deleteByName<T extends ApiObject>(kind: Kind<T>, key: ObjectKey): void;
  /**
   * Forgets an effect of this object, whatever its state: the caller has seen what became of the call,
   * for example that nothing was made. No-op when there is none.
   */
  forgetEffect<T extends ApiObject>(kind: Kind<T>, object: T, name: string): void;
}
