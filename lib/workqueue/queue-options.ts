/** The result of `get` of a queue. */
export type Handout<K> =
  /** `priority` is the one that the key was queued with. */
  | { readonly key: K; readonly priority: number; readonly shutDown: false }
  | { readonly shutDown: true };

/** The result of a drain. */
export interface DrainReport<K> {
  readonly drained: boolean;
  /** Keys that were queued or in process when the deadline passed. */
  readonly left: readonly K[];
}

/** Options of the order of a `WorkQueue`. */
export interface WorkQueueOptions<K> {
  /**
   * Returns the group of a key, such as its tenant. Groups take turns. A key for which it throws or returns no string
   * is in the group `''`.
   */
  readonly groupOf?: (key: K) => string;
  /**
   * Maximum keys of one group in process; default: no maximum. Further keys of the group wait while those of other
   * groups are handed out. A whole number, 1 or more; needs {@link groupOf}.
   */
  readonly groupConcurrency?: number;
  /** Called when {@link groupOf} threw or returned no string; must not throw. */
  readonly onGroupFault?: (error: unknown, key: K) => void;
  /**
   * One in this many handouts comes from a lower priority with waiting keys, regardless of the higher ones. A whole
   * number, 2 or more; default 8.
   */
  readonly lowerShare?: number;
}
