import { failedPrecondition, type StatusError } from '../../base/index.js';

/** Address of a record. */
export interface RecordAddress {
  readonly revision: number;
  /** Position inside the revision, from 0. */
  readonly index: number;
}

/** A record for engines: bytes with their own checksum under an address. */
export interface EngineRecord extends RecordAddress {
  readonly bytes: Buffer;
}

/**
 * The state of the log at the compaction mark: number and hash of the current records. They are checked below the
 * mark, where density can't be checked because superseded records are dropped.
 */
export interface Checkpoint {
  /** Superseded records up to here may have been dropped. 0: nothing was ever compacted. */
  readonly revision: number;
  readonly objects: number;
  /** Sum of the records' checksums, modulo 2^48. */
  readonly hash: number;
}

/** Identity and progress, stored beside the log. */
export interface EngineState {
  readonly storeId: string;
  /** See {@link ObjectStore.clusterId}. */
  readonly clusterId: string;
  readonly checkpoint: Checkpoint;
  /** A revision that is known to have been written: a log that ends before it has lost its tail. */
  readonly highWater: number;
  /** Present if this opening migrated the log, or an earlier one did without reporting it. */
  readonly migration?: Migration;
}

/** A migration of a log of an earlier release to this one. */
export interface Migration {
  /** Schema versions before and after. */
  readonly from: number;
  readonly to: number;
  /** Directory of the copy from before the migration. */
  readonly copy: string;
  /** The steps of a rollback to the earlier release, for messages. */
  readonly rollback: string;
}

/** Options of a scan. */
export interface ScanOptions {
  /** Last revision of interest, default all; an engine may also return later ones. */
  readonly through?: number;
}

/**
 * Bytes on the disk that are kept allocated, so that a store on a full disk still opens and accepts writes that free
 * space. Released bytes are available to every process of the machine.
 */
export interface Reserve {
  /** Bytes that are allocated now. Files of the reserve that another program removed do not count. */
  held(): Promise<number>;
  /**
   * Allocates one more piece of a reserve of `wholeBytes`, if `keepFreeBytes` stay free and the engine is open.
   * @returns whether a piece was allocated
   * @throws system errors; the piece is removed then
   */
  layPiece(wholeBytes: number, keepFreeBytes: number): Promise<boolean>;
  /**
   * Releases pieces until `freeBytes` are free, or none is left.
   * @returns released bytes
   * @throws system errors
   */
  release(freeBytes: number): Promise<number>;
}

/**
 * The storage of the log. An engine stores bytes durably and returns them. All semantics (versions, conflicts,
 * visibility, watch, checksums) are above it and the same for every engine.
 *
 * If `append` or `saveCheckpoint` rejects, its outcome is unknown, and both reject until the engine is closed and
 * reopened: only then the content of the log is known.
 */
export interface Engine {
  /**
   * Opens or creates the log. A new log gets the id of `newStoreId` and the cluster id `clusterId`; absent: its
   * cluster id is its store id.
   * @throws StatusError FailedPrecondition if another process has it open, DataLoss on damage.
   */
  open(newStoreId: () => string, clusterId?: string): Promise<EngineState>;
  /** Records after `revision` in order of revision and index, in chunks of up to some hundreds. */
  scan(revision: number, options?: ScanOptions): AsyncIterable<readonly EngineRecord[]>;
  /** Appends the records atomically and durably. */
  append(records: readonly EngineRecord[]): Promise<void>;
  /** The bytes of a record; undefined if there is none under this address. */
  get(address: RecordAddress): Promise<Buffer | undefined>;
  /**
   * Stores `checkpoint` and drops `superseded` atomically and durably. If only the mark were stored, no later
   * compaction would find these records.
   */
  saveCheckpoint(checkpoint: Checkpoint, superseded?: readonly RecordAddress[]): Promise<void>;
  /**
   * Confirms that the log up to `revision` was read and is intact: from then on a log that ends earlier is refused.
   * Durable when it resolves. Absent if a log can't lose its end.
   */
  confirm?(revision: number): Promise<void>;
  /** Confirms that {@link EngineState.migration} was reported: later openings do not return it again. */
  migrationReported?(): Promise<void>;
  /** Bytes that can still be written; undefined if there is no such limit. */
  freeBytes?(): Promise<number | undefined>;
  /** Present if the engine can reserve space. */
  readonly reserve?: Reserve;
  /** The location of the log, for messages; absent without one. */
  readonly location?: string;
  close(): Promise<void>;
}

/**
 * The effect of a replacement on a store that is not empty: it fails (`refuse`), or it replaces the store and keeps the
 * old one in another directory (`keep`).
 */
export type Existing = 'refuse' | 'keep';

/**
 * Writes the new content into an empty engine, which it opens and closes. `last` is the last known revision of the
 * replaced store, which may have reached later ones; undefined if none is known.
 */
export type Fill = (fresh: Engine, last: number | undefined) => Promise<void>;

/** The result of a replacement. */
export interface Replacement {
  /** Directory of the replaced store; absent if there was none, and for an engine without a directory. */
  readonly kept?: string;
}

/** The error of a replacement of existing content. */
export function notEmpty(): StatusError {
  return failedPrecondition(
    'NotEmpty',
    'the directory already contains a store; restore elsewhere, or replace it (option `replace: true`): the existing store is kept in another directory',
  );
}

/** An engine whose whole content can be replaced. */
export interface ReplaceableEngine extends Engine {
  /**
   * Replaces the whole content atomically with the writes of `fill`: after a crash at any moment the engine opens
   * with the old content or the new one. An engine on disk keeps the old content in another directory. The engine must not be open.
   * Existing content is checked while no other process can write.
   * @throws StatusError FailedPrecondition (NotEmpty) for existing content if `existing` is `refuse`,
   * (DirectoryLocked) when it is open here or in another process
   */
  replace(existing: Existing, fill: Fill): Promise<Replacement>;
}

/** Checkpoint of an empty, never compacted log. */
export const emptyCheckpoint: Checkpoint = { revision: 0, objects: 0, hash: 0 };

const hashModulus = 2 ** 48;

/** The checkpoint with one more current record (`sign` 1) or one less (-1). */
export function countRecord(mark: Checkpoint, checksum: number, sign: 1 | -1): Checkpoint {
  const hash = (mark.hash + sign * (checksum >>> 0) + hashModulus) % hashModulus;
  return { ...mark, objects: mark.objects + sign, hash };
}
