import { failedPrecondition, type StatusError } from '../../base/index.js';

/** Address of a record. */
export interface RecordAddress {
  readonly revision: number;
  /** Position inside the revision, from 0. */
  readonly index: number;
}

/** A record as engines see it: bytes that carry their own checksum under an address. */
export interface EngineRecord extends RecordAddress {
  readonly bytes: Buffer;
}

/**
 * What the log held at the compaction mark: number and hash of the records that were current then.
 * Density can't be checked below the mark, where superseded records are gone; this can.
 */
export interface Checkpoint {
  /** Revisions up to here may have been dropped when superseded. 0: nothing was ever compacted. */
  readonly revision: number;
  readonly objects: number;
  /** Sum of the records' checksums, modulo 2^48. */
  readonly hash: number;
}

/** Identity and progress that live beside the log. */
export interface EngineState {
  readonly storeId: string;
  /** See {@link ObjectStore.clusterId}. */
  readonly clusterId: string;
  readonly checkpoint: Checkpoint;
  /** A revision that is known to have been written: a log that ends before it has lost its tail. */
  readonly highWater: number;
  /** Present when this opening migrated the log, or an earlier one did and nobody was told. */
  readonly migration?: Migration;
}

/** A log that an earlier release wrote became one of this release. */
export interface Migration {
  /** Schema versions before and after. */
  readonly from: number;
  readonly to: number;
  /** Directory of the copy that was made before. */
  readonly copy: string;
  /** How to go back to the earlier release, for people. */
  readonly wayBack: string;
}

/** What a reader of the log can do without. */
export interface ScanOptions {
  /** Last revision of interest, default all; an engine may give later ones all the same. */
  readonly through?: number;
}

/**
 * Bytes on the disk that are kept allocated, so that a store whose disk is full still opens and still takes
 * what frees room. What is given back is free for every process of the machine.
 */
export interface Reserve {
  /** Bytes that are held now; fewer than were laid when somebody removed some. */
  held(): Promise<number>;
  /**
   * Lays one more piece of a reserve of `wholeBytes`, if `keepFreeBytes` stay free and the engine is open.
   * @returns whether a piece was laid
   * @throws system errors, with nothing left of the piece
   */
  layPiece(wholeBytes: number, keepFreeBytes: number): Promise<boolean>;
  /**
   * Gives pieces back until `freeBytes` are free, or none is left.
   * @returns bytes given back
   */
  release(freeBytes: number): Promise<number>;
}

/**
 * Where the log lives. An engine stores bytes durably and gives them back; all semantics (versions,
 * conflicts, visibility, watch, checksums) sit above it and are the same for every engine.
 *
 * After `append` or `saveCheckpoint` rejected, its outcome is unknown, and both reject until the engine
 * was closed and opened again: only then is it certain what the log holds.
 */
export interface Engine {
  /**
   * Opens or creates. A new log gets the id that `newStoreId` gives, and belongs to the cluster
   * `clusterId`; absent: it begins one, whose id is its store id.
   * @throws StatusError FailedPrecondition when another process holds it, DataLoss on damage.
   */
  open(newStoreId: () => string, clusterId?: string): Promise<EngineState>;
  /** Records after `revision` in order of revision and index, in chunks of at most some hundreds. */
  scan(revision: number, options?: ScanOptions): AsyncIterable<readonly EngineRecord[]>;
  /** Makes the records durable, all or none. */
  append(records: readonly EngineRecord[]): Promise<void>;
  get(address: RecordAddress): Promise<Buffer | undefined>;
  /**
   * Records `checkpoint` and forgets `superseded`, durably, both or neither: were the mark durable
   * without its drops, the log would hold records that no later compaction looks at.
   */
  saveCheckpoint(checkpoint: Checkpoint, superseded?: readonly RecordAddress[]): Promise<void>;
  /**
   * Tells that everything up to `revision` was read back and is whole: from then on a log that ends
   * before it is refused. Durable when it resolves. Absent where a log can't lose its end.
   */
  confirm?(revision: number): Promise<void>;
  /** Tells that people were told of {@link EngineState.migration}: no later opening gives it again. */
  migrationTold?(): Promise<void>;
  /** Bytes that can still be written; undefined where there is no such limit. */
  freeBytes?(): Promise<number | undefined>;
  /** Present where room can be reserved. */
  readonly reserve?: Reserve;
  /** Where the log lies, for messages to people; absent where it has no place. */
  readonly location?: string;
  close(): Promise<void>;
}

/** Whether a replacement may take the place of a store that holds something. */
export type Existing = 'refuse' | 'keep';

/**
 * Writes the new content into an empty engine, which it opens and closes. `last` is a revision that
 * the replaced store reached, within the second before it stopped; undefined when that is unknown.
 */
export type Fill = (fresh: Engine, last: number | undefined) => Promise<void>;

/** What became of a replacement. */
export interface Replacement {
  /** Where the replaced store is kept; absent when there was none. */
  readonly kept?: string;
}

/** The refusal of a replacement that would take the place of something. */
export function notEmpty(): StatusError {
  return failedPrecondition(
    'NotEmpty',
    'there is a store already; restore elsewhere, or replace it (option `replace: true`): what is there is kept aside',
  );
}

/** An engine whose whole content can be replaced. */
export interface ReplaceableEngine extends Engine {
  /**
   * Puts what `fill` writes in the place of everything that is there, all or nothing: after a crash at
   * any moment the engine opens with the old content or with the new. What is replaced is kept aside.
   * The engine must not be open. Whether something is there is judged while no other process can write.
   * @throws StatusError FailedPrecondition (NotEmpty) when something is there and `existing` is
   * `refuse`, (DirectoryLocked) when it is open here or in another process
   */
  replace(existing: Existing, fill: Fill): Promise<Replacement>;
}

/** Checkpoint of an empty, never compacted log. */
export const emptyCheckpoint: Checkpoint = { revision: 0, objects: 0, hash: 0 };

const hashModulus = 2 ** 48;

/** The checkpoint with one current record more (`sign` 1) or less (-1). */
export function countRecord(mark: Checkpoint, checksum: number, sign: 1 | -1): Checkpoint {
  const hash = (mark.hash + sign * (checksum >>> 0) + hashModulus) % hashModulus;
  return { ...mark, objects: mark.objects + sign, hash };
}
