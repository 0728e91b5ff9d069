import { backoffDelayMs, type BackoffOptions, type Random, StatusError } from '../base/index.js';

/** Decides how long a failed key waits. */
export interface RateLimiter<K> {
  /** Counts one failure and gives the wait in milliseconds. */
  when(key: K, error?: unknown): number;
  /** Failures since the last `forget`. */
  failures(key: K): number;
  /** Success: the next failure starts over. Also frees the memory of the key. */
  forget(key: K): void;
}

/** client-go's defaults for controllers: 5 ms doubling to 1000 s. */
export const defaultBackoff: BackoffOptions = { baseMs: 5, maxMs: 1_000_000, jitter: 0.1 };

/** Exponential backoff per key; an error that names a time to retry (Retry-After) is obeyed if longer. */
export class ItemBackoff<K> implements RateLimiter<K> {
  readonly #options: BackoffOptions;
  readonly #random: Random;
  readonly #failures = new Map<K, number>();

  constructor(random: Random, options: BackoffOptions = defaultBackoff) {
    this.#random = random;
    this.#options = options;
  }

  when(key: K, error?: unknown): number {
    const failures = this.#failures.get(key) ?? 0;
    this.#failures.set(key, failures + 1);
    const delayMs = backoffDelayMs(this.#options, failures, this.#random);
    const askedMs = error instanceof StatusError ? (error.retryAfterMs ?? 0) : 0;
    return Math.max(delayMs, askedMs);
  }

  failures(key: K): number {
    return this.#failures.get(key) ?? 0;
  }

  forget(key: K): void {
    this.#failures.delete(key);
  }
}
