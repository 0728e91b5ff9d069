/** What became of work that had a deadline. */
export type Outcome<T> =
  | { readonly type: 'done'; readonly value: T }
  | { readonly type: 'failed'; readonly error: unknown }
  /** It goes on, and nobody waits for it any more. */
  | { readonly type: 'late' };

/**
 * Waits for `work`, but not beyond `expiry`, which is given a signal that aborts when the work was
 * faster. Never rejects; a failure that comes late is not an unhandled rejection.
 *
 * @example
 * const outcome = await within(call(), (over) => sleep(clock, 1_000, over));
 */
export async function within<T>(
  work: Promise<T>,
  expiry: (over: AbortSignal) => Promise<void>,
): Promise<Outcome<T>> {
  const over = new AbortController();
  const late = expiry(over.signal).then((): Outcome<T> => ({ type: 'late' }));
  const settled = work.then(
    (value): Outcome<T> => ({ type: 'done', value }),
    (error: unknown): Outcome<T> => ({ type: 'failed', error }),
  );
  try {
    return await Promise.race([settled, late]);
  } finally {
    over.abort();
  }
}
