import type { ApiObject } from './object.js';

/** One change of one object. A deletion carries the last state, stamped with the deleting revision. */
export type WatchEvent<T extends ApiObject> =
  | { readonly type: 'ADDED'; readonly object: T; readonly revision: number }
  | {
      readonly type: 'MODIFIED';
      readonly object: T;
      /** The state before, where the source still has it. */
      readonly previous?: T;
      readonly revision: number;
    }
  | { readonly type: 'DELETED'; readonly object: T; readonly revision: number };

/**
 * Events up to and including `revision`, in order; a revision is never split over two batches.
 * Without events it is a bookmark: everything up to `revision` was sent.
 */
export interface WatchBatch<T extends ApiObject> {
  readonly revision: number;
  readonly events: readonly WatchEvent<T>[];
}

/** Where an informer gets its objects: the store in process, or a remote server. */
export interface ListWatch<T extends ApiObject> {
  /** All objects at one revision. */
  list(signal: AbortSignal): Promise<{ readonly items: readonly T[]; readonly revision: number }>;
  /**
   * Hands every batch after `revision` to `sink`, in order, each once. Resolves when the stream
   * ends or `signal` aborts; rejects with a StatusError (`OutOfRange`: list again).
   */
  watch(revision: number, sink: (batch: WatchBatch<T>) => void, signal: AbortSignal): Promise<void>;
}
