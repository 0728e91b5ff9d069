/** The outcome of work with a deadline. */
export type Outcome<T> =
  | { readonly type: 'done'; readonly value: T }
  | { readonly type: 'failed'; readonly error: unknown }
  /** The deadline expired. The work still runs but is no longer awaited. */
  | { readonly type: 'late' };

/**
 * Waits for `work`, at most until `expiry` resolves. `expiry` gets a signal that aborts when the work ends first.
 * Rejects only if `expiry` does; a late failure is not an unhandled rejection.
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
