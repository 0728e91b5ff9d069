/** How a reconcile ended; the only things a reconciler may say. A throw is `retry`. */
export type Result =
  | { readonly type: 'done' }
  | {
      readonly type: 'requeueAfter';
      readonly delayMs: number;
      /** Absent: the one the key came with. */
      readonly priority?: number;
    }
  | { readonly type: 'retry'; readonly error: unknown }
  | { readonly type: 'fail'; readonly reason: string; readonly message: string };

/** Nothing left to do until something changes. */
export function done(): Result {
  return { type: 'done' };
}

/** Look again after `delayMs`, without counting a failure. From a minute on, with a store, this survives a restart. */
export function requeueAfter(delayMs: number, priority?: number): Result {
  return { type: 'requeueAfter', delayMs, ...(priority === undefined ? {} : { priority }) };
}

/** Something failed that may pass: again after backoff. */
export function retry(error: unknown): Result {
  return { type: 'retry', error };
}

/** Will not succeed until the object or something it watches changes; counted, not retried. */
export function fail(reason: string, message: string): Result {
  return { type: 'fail', reason, message };
}
