import type { Migration } from '../engine/engine.js';
import type {
  ApiObject,
  Kind,
  ListWatch,
  NewObject,
  ObjectKey,
  Scope,
  StatusUpdate,
  WatchBatch,
} from '../../object/index.js';
import type { ListOptions, ListResult, WatchOptions } from './reads.js';
import type { Precondition, Operation, OperationResult } from './operations.js';

/** Reads. They return only durable state. Objects are frozen. */
export interface StoreReader {
  /** The last visible revision. */
  readonly revision: number;
  /**
   * Reads an object; undefined if it does not exist.
   * @throws StatusError InvalidArgument for a key that no object of the kind may have
   */
  get<T extends ApiObject>(kind: Kind<T>, key: ObjectKey): Promise<T | undefined>;
  /**
   * Returns the selected objects in key order, at one revision.
   * @throws StatusError OutOfRange (PageTokenExpired) for a page token that is too old or from before the store was
   * opened; InvalidArgument for a token of another list, an invalid page size or namespace, and an unknown index;
   * FailedPrecondition (IndexIncomplete) while the function of the index throws for a stored object.
   */
  list<T extends ApiObject, I extends string = string>(
    kind: Kind<T, string, I>,
    options?: ListOptions<NoInfer<I> | 'namespace'>,
  ): Promise<ListResult<T>>;
  /**
   * Delivers the changes after the start position until `signal` aborts. The first read of the result starts the watch.
   * @throws StatusError OutOfRange if the start is compacted (Compacted), newer than the store (Ahead) or of another
   * store's history (OtherStore); InvalidArgument for an invalid namespace, revision or cursor (InvalidCursor);
   * ResourceExhausted (SlowReader) if the initial objects are read too slowly; DataLoss for a damaged history.
   */
  watch<T extends ApiObject>(kind: Kind<T>, options: WatchOptions): AsyncIterable<WatchBatch<T>>;
  /** The kind as an informer's source. In process its sink runs before the promise of the write resolves. */
  source<T extends ApiObject>(kind: Kind<T>): ListWatch<T>;
}

/**
 * Writes. A resolved promise means durable. Each write also rejects with:
 *
 * - InvalidArgument for an invalid object or one that is too large;
 * - FailedPrecondition for a transition that the kind's states do not allow (IllegalTransition), and for a finalizer
 *   that is added to an object in deletion (Deleting);
 * - ResourceExhausted while the disk is nearly full (DiskFull), or too many writes wait (WriteQueueFull);
 * - Unavailable while the store accepts no writes.
 */
export interface StoreWriter {
  /** Creates an object and returns it as stored. @throws StatusError AlreadyExists */
  create<T extends ApiObject, N extends Scope, C>(
    kind: Kind<T, string, string, N, C>,
    object: NoInfer<NewObject<T, N, C>>,
  ): Promise<T>;
  /**
   * Replaces everything except status, if the stored object still has the uid and the version of `object`: pass a
   * changed copy of the object that was read.
   * @throws StatusError Aborted (Conflict) if it was written, or deleted and recreated meanwhile; NotFound if it does
   * not exist; InvalidArgument for an object without uid or version.
   */
  update<T extends ApiObject>(kind: Kind<T>, object: T): Promise<T>;
  /**
   * Replaces everything except status of any object with this name; concurrent writes are lost. The uid and version
   * of `object` are ignored.
   * @throws StatusError NotFound if it does not exist.
   */
  overwrite<T extends ApiObject, C>(
    kind: Kind<T, string, string, Scope, C>,
    object: NoInfer<NewObject<T, Scope, C>>,
  ): Promise<T>;
  /**
   * Replaces the given status fields and keeps the others. Unguarded without `precondition`.
   * @throws StatusError NotFound if the object does not exist; Aborted (Conflict) if `precondition` does not hold.
   */
  updateStatus<T extends ApiObject, S extends string>(
    kind: Kind<T, S>,
    key: ObjectKey,
    status: StatusUpdate<T, S>,
    precondition?: Precondition,
  ): Promise<T>;
  /**
   * Deletes the object that was read, in any version, but not another one that was created under its name. Resolves
   * to the object with its deletion marked, or to its last state if it was removed. `precondition` may require more,
   * such as the version.
   * @throws StatusError NotFound; Aborted (Conflict) for another uid or if `precondition` does not hold;
   * FailedPrecondition (IllegalTransition) if the kind's states do not allow the removal; InvalidArgument for an object
   * without uid or an invalid `precondition`.
   */
  delete<T extends ApiObject>(kind: Kind<T>, object: T, precondition?: Precondition): Promise<T>;
  /** Like `delete`, for any object with this name. */
  deleteByName<T extends ApiObject>(
    kind: Kind<T>,
    key: ObjectKey,
    precondition?: Precondition,
  ): Promise<T>;
  /**
   * Commits all operations at one revision, or none. An empty transaction writes nothing and resolves once all
   * earlier writes are visible to reads.
   * @throws StatusError NotFound for an operation or check of an object that does not exist; AlreadyExists for a
   * creation; Aborted (Conflict) for any other failed precondition or check, including a `checkKind` of a revision that
   * is too old to be checked; InvalidArgument for a `checkKind` that the kind does not allow, and beyond
   * `limits.transactionOperationsMax` writes or `limits.transactionChecksMax` checks; InvalidArgument (NotIndexable)
   * if a function of `Kind.indexes` throws for a written object, or its values exceed a limit
   */
  transact(operations: readonly Operation[]): Promise<readonly OperationResult[]>;
}

/** Whether reads and writes are possible. */
export type StoreHealth =
  | { readonly state: 'serving' }
  /** The disk is nearly full: only steps of deletions, smaller objects, and kinds with `takenWhenFull` are written. */
  | { readonly state: 'full'; readonly error: Error }
  /** A write failed: reads continue, writes are refused, and the store reopens itself when it can. */
  | { readonly state: 'poisoned'; readonly error: Error }
  /** The server of the store does not answer: neither reads nor writes are possible. */
  | { readonly state: 'unreachable'; readonly error: Error }
  | { readonly state: 'closed' };

/** The content of a backup. */
export interface BackupReport {
  readonly storeId: string;
  readonly clusterId: string;
  readonly revision: number;
  readonly objects: number;
  readonly bytes: number;
}

/** The counts of a successful verification. */
export interface VerifyReport {
  /** The last checked revision. */
  readonly revision: number;
  readonly records: number;
  readonly objects: number;
}

/**
 * An object store, in process or remote: reads, writes, life cycle. `storeConformance` of `kedge/testing` tests an
 * implementation.
 *
 * Guarantees:
 * - A resolved write is durable, and no read shows a change that is not durable yet.
 * - The changes of a transaction become visible together, at one revision.
 * - Of several writers that expect the same version of an object, at most one succeeds.
 * - A list, and a watch from its position, neither lose nor repeat a change.
 *
 * Ordering: revisions increase with every change, also across restarts, and a watch delivers changes in this order.
 * A read includes the writes that were resolved by this store object before it.
 *
 * Errors: a refusal, such as Aborted (Conflict), AlreadyExists, NotFound or InvalidArgument, writes nothing.
 * OutOfRange: list again. Unavailable: the store failed, is closed or unreachable; a write in progress was committed
 * once or never.
 *
 * Caveats: history is limited, so that an old position is refused, and the delay of events has no bound. Objects are
 * frozen: change a copy. Compaction, backup and verification exist only on an {@link EmbeddedStore}.
 *
 * @example
 * import { MemoryEngine, openStore } from 'kedge';
 *
 * await using store = await openStore({ engine: new MemoryEngine() });
 * const lamp = await store.create(lamps, { name: 'hall', on: true });
 * await store.update(lamps, { ...lamp, on: false });
 * const signal = AbortSignal.timeout(1_000);
 * for await (const { events } of store.watch(lamps, { sendInitialEvents: true, signal }))
 *   for (const { type, object } of events) console.log(type, object.name, object.on);
 */
export interface ObjectStore extends StoreReader, StoreWriter, AsyncDisposable {
  /**
   * The id of the history of revisions; a restored backup gets another one. In a remote store it changes if the
   * server's store is replaced. 1 to 64 letters, digits, `-` and `_`, because watch cursors contain it.
   */
  readonly storeId: string;
  /**
   * The id of the cluster: set when the store is created, kept in its backups and by a restore. External resources (a
   * storage root, a resource of a provider) are marked with it. Empty for a remote store of a release without cluster
   * ids.
   */
  readonly clusterId: string;
  health(): StoreHealth;
  close(): Promise<void>;
}

/**
 * An object store whose data this process owns, with operations on the disk. A remote store is an {@link
 * ObjectStore} without these.
 */
export interface EmbeddedStore extends ObjectStore {
  /** The id of the cluster: a store that was restored from a backup of this one has the same id. */
  readonly clusterId: string;
  /**
   * Present if opening migrated the data of an earlier release. Also present at later openings until a store with
   * it was closed gracefully, because a killed process may not have reported it.
   */
  readonly migration?: Migration;
  /**
   * Drops history beyond the limits; called by the manager periodically.
   * @throws StatusError Unavailable while the store is poisoned or closed
   */
  compact(): Promise<void>;
  /**
   * Writes all objects at one revision to `sink` as the bytes of a backup; writes to the store continue. Rejects if
   * `sink` rejects. See {@link restoreBackup}.
   */
  backup(sink: (bytes: Buffer) => Promise<void>): Promise<BackupReport>;
  /**
   * Reads and checks everything on the disk; writes continue.
   * @throws StatusError DataLoss that names the damage; Unavailable while the store is poisoned or closed
   */
  verify(): Promise<VerifyReport>;
}

/** Whether this process owns the data of a store, so that it can be compacted, backed up and verified here. */
export function isEmbedded(store: ObjectStore): store is EmbeddedStore {
  return 'compact' in store && typeof store.compact === 'function';
}
