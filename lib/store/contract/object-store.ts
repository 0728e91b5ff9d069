import type { Migration } from '../engine/engine.js';
import type {
  AnyKind,
  ApiObject,
  FieldSelector,
  Kind,
  LabelSelector,
  ListWatch,
  NewObject,
  ObjectKey,
  Scope,
  StatusUpdate,
  ObjectVersion,
  WatchBatch,
  WatchPosition,
} from '../../object/index.js';

/**
 * Objects under one value of an index: of one in {@link Kind.indexes}, or of `namespace`, which every
 * namespaced kind has. Both or neither.
 *
 * @typeParam I names of the indexes
 */
export type IndexSelection<I extends string = string> =
  | { readonly index: I; readonly value: string }
  | { readonly index?: undefined; readonly value?: undefined };

/**
 * Which objects a list returns. By `index` it is found in time proportional to the objects under the
 * value, after the first such list since the store was opened, which reads all objects of the kind.
 */
export type ListOptions<I extends string = string> = ListBounds & IndexSelection<I>;

/** {@link ListOptions} without an index. */
export interface ListBounds {
  /** Exactly this namespace; absent means all. */
  readonly namespace?: string;
  readonly labels?: LabelSelector;
  readonly fields?: FieldSelector;
  /**
   * Objects a page, 1 or more; above `limits.pageSizeMax` that many are given. Absent: everything in
   * one page.
   */
  readonly limit?: number;
  /** Encoded bytes a page may hold, 1 or more, so that it fits a message; one object is given in any case. */
  readonly pageBytes?: number;
  /**
   * From the page before, within 5 minutes; namespace, selectors and caller must be the same, the size
   * of the page may differ. Selectors are compared by their text, where they have one.
   */
  readonly pageToken?: string;
  /** Who asks, where a program lists for others: nobody else is given the further pages. */
  readonly caller?: string;
}

/** Objects in key order, all at one revision (also across the pages of one list). */
export interface ListResult<T extends ApiObject> {
  readonly items: readonly T[];
  /** What a `checkKind` takes: since then nothing changed. */
  readonly revision: number;
  /** The same position, where `revision` alone does not say whose history it is; see {@link WatchStart}. */
  readonly cursor?: string;
  /** Empty on the last page. */
  readonly nextPageToken: string;
}

/** Where a watch starts. */
export type WatchStart =
  | WatchPosition
  /** With the objects there are, as ADDED events in batches marked `initial`, then live. */
  | { readonly sendInitialEvents: true };

/**
 * What a watch covers. With selectors an object that comes to match is told as ADDED, one that no
 * longer does as DELETED, with the state that left; a deletion is told when the state before it matched.
 */
export type WatchOptions = WatchStart & {
  readonly namespace?: string;
  readonly labels?: LabelSelector;
  readonly fields?: FieldSelector;
  readonly signal: AbortSignal;
  /** Send a bookmark after this long without an event, in milliseconds. Absent: never. */
  readonly bookmarkMs?: number;
  /**
   * Tell with each change the state before it, also where that has to be read from the log. Absent:
   * only where it is in memory.
   */
  readonly withPrevious?: boolean;
};

/**
 * Guards of a write; a mismatch is Aborted, reason Conflict. The message names what differs, of `fields`
 * only the paths.
 */
export interface Precondition {
  readonly resourceVersion?: string;
  readonly uid?: string;
  /** 1 or more. It rises when a field outside of status changes and when deletion is asked for. */
  readonly generation?: number;
  /** False demands that no deletion was asked for. */
  readonly deleting?: false;
  /** Only for `check`: false demands that there is no such object. */
  readonly exists?: false;
  /** Values that fields must have, by dotted path; `undefined` for absent. */
  readonly fields?: Readonly<Record<string, unknown>>;
}

/**
 * Writes nothing: the transaction only happens if since `revision` no object of the kind (or none under
 * `value` of the index, before or after the change) was created, deleted or changed outside of its
 * status. Operations of the same transaction do not count. A status write counts for the values that it
 * moves an object to or from, where the index reads status.
 *
 * Without an index for kinds with `rarelyWritten` only.
 */
export type KindCheck = {
  readonly op: 'checkKind';
  readonly kind: AnyKind;
  /** Of a list that was read ({@link ListResult.revision}). */
  readonly revision: number;
} & IndexSelection;

/** One operation of a transaction. */
export type Operation = ObjectOperation | KindCheck;

/** An operation on one object. */
export type ObjectOperation =
  | { readonly op: 'create'; readonly kind: AnyKind; readonly object: NewObject<ApiObject> }
  | {
      /**
       * Replaces everything but status and what the store stamps, if the stored object is still the
       * one, and in the version, that the update was decided on.
       */
      readonly op: 'update';
      readonly kind: AnyKind;
      readonly object: NewObject<ApiObject>;
      readonly precondition: Precondition & ObjectVersion;
    }
  | {
      /** As `update`, whatever object of this name is stored, in whatever version. */
      readonly op: 'overwrite';
      readonly kind: AnyKind;
      readonly object: NewObject<ApiObject>;
    }
  | {
      /** Replaces status fields only; `status` holds those to set. */
      readonly op: 'updateStatus';
      readonly kind: AnyKind;
      readonly key: ObjectKey;
      readonly status: object;
      readonly precondition?: Precondition;
    }
  | {
      /** Deletes the object with this uid; another one of the same name is left alone. */
      readonly op: 'delete';
      readonly kind: AnyKind;
      readonly key: ObjectKey;
      readonly precondition: Precondition & Pick<ObjectVersion, 'uid'>;
    }
  | {
      /** Deletes whatever object has this name. */
      readonly op: 'deleteByName';
      readonly kind: AnyKind;
      readonly key: ObjectKey;
      readonly precondition?: Precondition;
    }
  | {
      /** Writes nothing: the transaction only happens if the object is at this version. */
      readonly op: 'check';
      readonly kind: AnyKind;
      readonly key: ObjectKey;
      readonly precondition: Precondition;
    };

/** What became of one operation. */
export interface OperationResult {
  /**
   * The object as stored now; for a deletion, its last state; without a uid for a check of an absence
   * or of a kind.
   */
  readonly object: ApiObject;
  /** False once the object is gone. */
  readonly exists: boolean;
  readonly changed: boolean;
}

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
