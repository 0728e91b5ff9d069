import type { ApiObject } from '../object/index.js';

/** One change as the log keeps it. `count` says how many records its revision has. */
export interface LogRecord {
  readonly revision: number;
  /** Position inside the revision, from 0. */
  readonly index: number;
  readonly count: number;
  readonly type: 'ADDED' | 'MODIFIED' | 'DELETED';
  readonly kind: string;
  readonly object: ApiObject;
  /** Commit time, milliseconds since the epoch. */
  readonly at: number;
}

/** A record to be written, its object encoded already: once for the size check and the disk. */
export interface NewRecord extends LogRecord {
  /** `object` as JSON. */
  readonly encodedObject: string;
}

/** Identity and progress that live beside the log. */
export interface EngineState {
  readonly storeId: string;
  /** Revisions up to here may have been dropped when superseded. */
  readonly compactedRevision: number;
  /** A revision that is known to have been written: a log that ends before it has lost its tail. */
  readonly highWater: number;
}

/** Address of a record. */
export interface RecordAddress {
  readonly revision: number;
  readonly index: number;
}

/**
 * Where the log lives. An engine stores records durably and gives them back; all semantics
 * (versions, conflicts, visibility, watch) sit above it and are the same for every engine.
 */
export interface Engine {
  /** Opens or creates. @throws StatusError FailedPrecondition when another process holds it, DataLoss on damage. */
  open(newStoreId: () => string): Promise<EngineState>;
  /** Every record in order of revision and index. */
  scan(): AsyncIterable<LogRecord>;
  /** Makes the records durable, all or none. After a rejection the outcome is unknown. */
  append(records: readonly NewRecord[]): Promise<void>;
  /** Records after `revision`, in order, at least `limit` unless the log ends; never splits a revision. */
  read(revision: number, limit: number): Promise<readonly LogRecord[]>;
  /** Records `compactedRevision` durably, before anything is dropped. */
  markCompacted(revision: number): Promise<void>;
  drop(addresses: readonly RecordAddress[]): Promise<void>;
  close(): Promise<void>;
}
