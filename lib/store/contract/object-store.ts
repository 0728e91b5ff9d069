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

/** Reads. All of them see only what is durable. Objects are frozen. */
export interface StoreReader {
  /** The last visible revision. */
  readonly revision: number;
  get<T extends ApiObject>(kind: Kind<T>, key: ObjectKey): Promise<T | undefined>;
  /**
   * @throws StatusError OutOfRange (PageTokenExpired) for a page token that is too old or from before
   * the store was opened; InvalidArgument for one that is no token of this list, for a page size that
   * is none, and for an index that the kind does not have; FailedPrecondition (IndexIncomplete)
   * while the function of the index throws for a stored object.
   */
  list<T extends ApiObject, I extends string = string>(
    kind: Kind<T, string, I>,
    options?: ListOptions<NoInfer<I> | 'namespace'>,
  ): Promise<ListResult<T>>;
  /**
   * @throws StatusError OutOfRange when the start is compacted (Compacted), has not happened yet
   * (Ahead) or is of another store's history (OtherStore); InvalidArgument for what is no revision and
   * no cursor (InvalidCursor).
   */
  watch<T extends ApiObject>(kind: Kind<T>, options: WatchOptions): AsyncIterable<WatchBatch<T>>;
  /** The kind as an informer's source; in process its sink runs before the write's promise resolves. */
  source<T extends ApiObject>(kind: Kind<T>): ListWatch<T>;
}

/** Writes. A resolved promise means durable. */
export interface StoreWriter {
  /** @throws StatusError AlreadyExists */
  create<T extends ApiObject, N extends Scope, C>(
    kind: Kind<T, string, string, N, C>,
    object: NoInfer<NewObject<T, N, C>>,
  ): Promise<T>;
  /**
   * Replaces everything but status, if the stored object still has the uid and the version of
   * `object`: pass a changed copy of the object that was read.
   * @throws StatusError Aborted (Conflict) when somebody else wrote it meanwhile, or it was deleted
   * and created anew; NotFound when it is gone; InvalidArgument for an object without uid or version.
   */
  update<T extends ApiObject>(kind: Kind<T>, object: T): Promise<T>;
  /**
   * Replaces everything but status of whatever object has this name; what others wrote meanwhile is
   * lost. The uid and version of `object` are not looked at.
   * @throws StatusError NotFound when there is none.
   */
  overwrite<T extends ApiObject, C>(
    kind: Kind<T, string, string, Scope, C>,
    object: NoInfer<NewObject<T, Scope, C>>,
  ): Promise<T>;
  /** Replaces the status fields given, keeps the others. Unguarded without `precondition`. */
  updateStatus<T extends ApiObject, S extends string>(
    kind: Kind<T, S>,
    key: ObjectKey,
    status: StatusUpdate<T, S>,
    precondition?: Precondition,
  ): Promise<T>;
  /**
   * Deletes the object that was read, whatever its version is by now; not another one that was
   * created under its name. Resolves to the object with its deletion marked, or to its last state
   * when it is gone. `precondition` may demand more, such as the version.
   * @throws StatusError NotFound; Aborted (Conflict) for another uid or where `precondition` does not
   * hold; InvalidArgument for an object without uid.
   */
  delete<T extends ApiObject>(kind: Kind<T>, object: T, precondition?: Precondition): Promise<T>;
  /** As `delete`, whatever object has this name. */
  deleteByName<T extends ApiObject>(
    kind: Kind<T>,
    key: ObjectKey,
    precondition?: Precondition,
  ): Promise<T>;
  /**
   * All operations at one revision, or none. An empty transaction writes nothing and resolves once
   * everything written before it is visible to reads.
   * @throws StatusError Aborted (Conflict) for a precondition or check that does not hold, also for a
   * `checkKind` of a revision that is too old to be judged; InvalidArgument for a `checkKind` that the
   * kind does not allow, and beyond `limits.transactionOperationsMax` writes or
   * `limits.transactionChecksMax` checks; InvalidArgument (NotIndexable) when a function of
   * `Kind.indexes` throws for an object to be written, or its values break a bound of `limits`
   */
  transact(operations: readonly Operation[]): Promise<readonly OperationResult[]>;
}

/** Whether reads and writes are possible. */
export type StoreHealth =
  | { readonly state: 'serving' }
  /** Little room is left on the disk: only steps of deletions, and kinds with `takenWhenFull`, are written. */
  | { readonly state: 'full'; readonly error: Error }
  /** A write failed: reads go on, writes are refused, and the store reopens itself when it can. */
  | { readonly state: 'poisoned'; readonly error: Error }
  /** The process that has the store does not answer: neither reads nor writes are possible. */
  | { readonly state: 'unreachable'; readonly error: Error }
  | { readonly state: 'closed' };

/** What a backup holds. */
export interface BackupReport {
  readonly storeId: string;
  readonly clusterId: string;
  readonly revision: number;
  readonly objects: number;
  readonly bytes: number;
}

/** What a verification read, all of it sound. */
export interface VerifyReport {
  /** Everything up to here was checked. */
  readonly revision: number;
  readonly records: number;
  readonly objects: number;
}

/** An object store, wherever it is: reads, writes, life cycle. */
export interface ObjectStore extends StoreReader, StoreWriter, AsyncDisposable {
  /**
   * Names the history that revisions belong to; a restored backup gets another. A store in another
   * process changes it when it meets another history there. 1 to 64 letters, digits, `-` and `_`: watch
   * cursors hold it.
   */
  readonly storeId: string;
  /**
   * Names the cluster that the store is of: given when the store is first made, kept in its backups
   * and unchanged by a restore. What lies outside of the store (a storage root, a resource of a
   * provider) is marked with it. Empty for a store in another process of a release that has none.
   */
  readonly clusterId: string;
  health(): StoreHealth;
  close(): Promise<void>;
}

/**
 * An object store whose data this process holds: what needs the disk itself is possible here only. A
 * store in another process is an {@link ObjectStore} without these.
 */
export interface EmbeddedStore extends ObjectStore {
  /**
   * Present when opening made what an earlier release wrote into what this release writes; also at later
   * openings, until a store that had it was closed in order: a process that is killed may not have told.
   */
  readonly migration?: Migration;
  /** Drops history older than the limits allow; called by the manager's housekeeping. */
  compact(): Promise<void>;
  /**
   * Hands all objects at one revision to `sink`, as the bytes of a backup, while writes go on.
   * Rejects when `sink` does. See {@link restoreBackup}.
   */
  backup(sink: (bytes: Buffer) => Promise<void>): Promise<BackupReport>;
  /** Reads everything back from the disk while writes go on. @throws StatusError DataLoss naming what is wrong. */
  verify(): Promise<VerifyReport>;
}

/** Whether the data of a store is held by this process, so that it can be compacted, backed up and verified here. */
export function isEmbedded(store: ObjectStore): store is EmbeddedStore {
  return 'compact' in store && typeof store.compact === 'function';
}
