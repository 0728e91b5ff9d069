import type { ApiObject } from './kinds/object.js';
import { type Stored, stored } from './stored.js';

/**
 * One change of one object. A deletion has the last state, with the revision of the deletion. With selectors, an object
 * that no longer matches is a deletion with its new state; `previous` has the matching one, if the source still has it.
 */
export type WatchEvent<T extends ApiObject> = {
  /** Bytes of the change in the source, if known, for consumers that bound buffered bytes. */
  readonly size?: number;
} & (
  | { readonly type: 'ADDED'; readonly object: T; readonly revision: number }
  | {
      readonly type: 'MODIFIED';
      readonly object: T;
      /** The previous state, if the source still has it. */
      readonly previous?: T;
      readonly revision: number;
    }
  | {
      readonly type: 'DELETED';
      readonly object: T;
      /** The previous state, if the source still has it. */
      readonly previous?: T;
      readonly revision: number;
    }
);

/**
 * Events up to and including `revision`, in order. The events of a revision are in one batch, except in an initial
 * list. A batch without events is a bookmark: everything up to `revision` was sent.
 */
export interface WatchBatch<T extends ApiObject> {
  readonly revision: number;
  /** See {@link StoredBatch.cursor}. */
  readonly cursor?: string;
  readonly events: readonly WatchEvent<T>[];
  /**
   * Only in a watch that streams the initial list: `more` while ADDED events of the list are sent, `end` once, on the
   * empty batch after them. Absent in live batches.
   */
  readonly initial?: 'more' | 'end';
}

/** The position at which a watch resumes. */
export type WatchPosition =
  /** After this revision, the last one already seen; 0 means the start of history. */
  | { readonly fromRevision: number }
  /** After the `cursor` of a list or batch. The store refuses the cursor of another store. */
  | { readonly cursor: string };

/** One change for an informer: objects need not be parsed to be cached. */
export type StoredEvent<T extends ApiObject> =
  | { readonly type: 'set'; readonly entry: Stored<T> }
  | { readonly type: 'delete'; readonly entry: Stored<T> };

/** {@link WatchBatch} for informers. */
export interface StoredBatch<T extends ApiObject> {
  readonly revision: number;
  /**
   * The source's position after this batch, where `revision` alone does not identify the history. To resume, pass
   * it back unchanged.
   */
  readonly cursor?: string;
  readonly events: readonly StoredEvent<T>[];
}

/** A batch of in-memory objects for informers of custom sources. */
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

/** All objects of a kind at one revision, as listed by a source. */
export interface StoredList<T extends ApiObject> {
  readonly items: readonly Stored<T>[];
  readonly revision: number;
  /** See {@link StoredBatch.cursor}. */
  readonly cursor?: string;
}

/** The source of an informer: an in-process store, or a remote server. */
export interface ListWatch<T extends ApiObject> {
  /** All objects at one revision. */
  list(signal: AbortSignal): Promise<StoredList<T>>;
  /**
   * Passes every batch after `revision` to `sink`, in order, each once. Resolves when the stream ends or `signal`
   * aborts; rejects with a StatusError (`OutOfRange`: list again).
   * @param cursor the cursor of the list or batch of `revision`, if it had one
   */
  watch(
    revision: number,
    sink: (batch: StoredBatch<T>) => void,
    signal: AbortSignal,
    cursor?: string,
  ): Promise<void>;
  /**
   * The present revision of the source, if it is known without a call: a cache that lags behind it has missed events.
   */
  readonly currentRevision?: () => number;
  /**
   * A watch without any message for this long, in milliseconds, counts as dead. Set it only for a source that sends
   * bookmarks more often. Absent if silence is normal.
   */
  readonly silenceMs?: number;
}
