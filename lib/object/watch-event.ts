import type { ApiObject } from './kinds/object.js';
import { type Stored, stored } from './stored.js';

/** One change of one object. A deletion carries the last state, stamped with the deleting revision. */
export type WatchEvent<T extends ApiObject> = {
  /** Bytes of the change in the source, where it tells: for whoever bounds what is under way. */
  readonly size?: number;
} & (
  | { readonly type: 'ADDED'; readonly object: T; readonly revision: number }
  | {
      readonly type: 'MODIFIED';
      readonly object: T;
      /** The state before, where the source still has it. */
      readonly previous?: T;
      readonly revision: number;
    }
  | {
      readonly type: 'DELETED';
      readonly object: T;
      /** The state before, where the source still has it. */
      readonly previous?: T;
      readonly revision: number;
    }
);

/**
 * Events up to and including `revision`, in order; a revision is never split over two batches.
 * Without events it is a bookmark: everything up to `revision` was sent.
 */
export interface WatchBatch<T extends ApiObject> {
  readonly revision: number;
  /** See {@link StoredBatch.cursor}. */
  readonly cursor?: string;
  readonly events: readonly WatchEvent<T>[];
  /**
   * Only in a watch that streams the initial list: `more` while ADDED events of the list are sent,
   * `end` once on the empty batch after them. Absent on live batches.
   */
  readonly initial?: 'more' | 'end';
}

/** Where a watch goes on. */
export type WatchPosition =
  /** After this revision, the last one already seen; 0 means from the start of history. */
  | { readonly fromRevision: number }
  /** After the position that a list or batch told as its `cursor`, also if that was another store. */
  | { readonly cursor: string };

/** One change as an informer takes it: the objects need not be parsed to be cached. */
export type StoredEvent<T extends ApiObject> =
  | { readonly type: 'set'; readonly entry: Stored<T> }
  | { readonly type: 'delete'; readonly entry: Stored<T> };

/** {@link WatchBatch} for informers. */
export interface StoredBatch<T extends ApiObject> {
  readonly revision: number;
  /**
   * The position behind this batch as its source tells it, where `revision` alone does not say whose
   * history it is. Whoever resumes hands it back as it came.
   */
  readonly cursor?: string;
  readonly events: readonly StoredEvent<T>[];
}

/** A batch of objects in memory as informers take it; for sources of one's own. */
export function storedBatch<T extends ApiObject>(batch: WatchBatch<T>): StoredBatch<T> {
  const events = batch.events.map(
    ({ type, object }): StoredEvent<T> => ({
      type: type === 'DELETED' ? 'delete' : 'set',
      entry: stored(object),
    }),
  );
  const { revision, cursor } = batch;
  return { revision, events, ...(cursor === undefined ? {} : { cursor }) };
}

/** All objects of a kind at one revision, as a source lists them. */
export interface StoredList<T extends ApiObject> {
  readonly items: readonly Stored<T>[];
  readonly revision: number;
  /** See {@link StoredBatch.cursor}. */
  readonly cursor?: string;
}

/** Where an informer gets its objects: the store in process, or a remote server. */
export interface ListWatch<T extends ApiObject> {
  /** All objects at one revision. */
  list(signal: AbortSignal): Promise<StoredList<T>>;
  /**
   * Hands every batch after `revision` to `sink`, in order, each once. Resolves when the stream
   * ends or `signal` aborts; rejects with a StatusError (`OutOfRange`: list again).
   * @param cursor what the list or batch of `revision` told as its cursor, if it did
   */
  watch(
    revision: number,
    sink: (batch: StoredBatch<T>) => void,
    signal: AbortSignal,
    cursor?: string,
  ): Promise<void>;
  /**
   * The revision the source is at now, where that can be told without asking anybody: a cache that
   * stays behind it has missed something.
   */
  readonly currentRevision?: () => number;
  /**
   * A watch that brings nothing for this long, not even a bookmark, is dead, in milliseconds: for a
   * source whose bookmarks come more often. Absent where silence means nothing.
   */
  readonly silenceMs?: number;
}
