import {
  backoffDelayMs,
  type BackoffOptions,
  type Clock,
  type Random,
  requireBackoff,
  retryAfterOf,
} from '../base/index.js';

/** Decides on the delay of a failed key. */
export interface RateLimiter<K> {
  /** Counts one failure and returns the delay in milliseconds. */
  when(key: K, error?: unknown): number;
  /** Number of failures since the last `forget`. */
  failures(key: K): number;
  /** Resets the failures after a success, and frees the memory of the key. */
  forget(key: K): void;
}

/** The defaults of client-go for controllers: 5 ms doubling to 1000 s. */
export const defaultBackoff: BackoffOptions = { baseMs: 5, maxMs: 1_000_000, jitter: 0.1 };

/** Exponential backoff per key; a longer delay that an error requests (Retry-After) is obeyed. */
export class ItemBackoff<K> implements RateLimiter<K> {
  readonly #options: BackoffOptions;
  readonly #random: Random;
  readonly #failures = new Map<K, number>();

  /** @throws RangeError for options that are not finite, or a jitter outside 0 to 1. */
  constructor(random: Random, options: BackoffOptions = defaultBackoff) {
    requireBackoff('backoff', options);
    this.#random = random;
    this.#options = options;
  }

  /** Number of keys with failures. */
  get size(): number {
    return this.#failures.size;
  }

  when(key: K, error?: unknown): number {
    const failures = this.#failures.get(key) ?? 0;
    this.#failures.set(key, failures + 1);
    const delayMs = backoffDelayMs(this.#options, failures, this.#random);
    return Math.max(delayMs, retryAfterOf(error));
  }

  failures(key: K): number {
    return this.#failures.get(key) ?? 0;
  }

  /** Sets a count of failures that was stored, so that it survives a restart. */
  restore(key: K, failures: number): void {
    if (failures > 0) this.#failures.set(key, failures);
  }

  forget(key: K): void {
    this.#failures.delete(key);
  }
}

/** Bounds of a {@link TokenBucket}. */
export interface TokenBucketOptions {
  /** Tokens that are added per second. */
  readonly perSecond: number;
  /** Maximum number of saved tokens. */
  readonly burst: number;
}

/**
 * Limits the rate of retries of all keys: a burst, then a rate per second. client-go's defaults are 10 per second and a
 * burst of 100.
 */
export class TokenBucket<K> implements RateLimiter<K> {
  readonly #clock: Clock;
  readonly #options: TokenBucketOptions;
  #tokens: number;
  #at: number;

  /** @throws RangeError unless `perSecond` is finite and above 0, and `burst` is 1 or more. */
  constructor(clock: Clock, options: TokenBucketOptions = { perSecond: 10, burst: 100 }) {
    const { perSecond, burst } = options;
    if (!Number.isFinite(perSecond) || perSecond <= 0)
      throw new RangeError(`perSecond is ${perSecond}; give a finite number above 0`);
    if (!(burst >= 1)) throw new RangeError(`burst is ${burst}; give a number, 1 or more`);
    this.#clock = clock;
    this.#options = options;
    this.#tokens = options.burst;
    this.#at = clock.monotonic();
  }

  when(): number {
    this.#refill();
    // Negative values count the retries that wait for a later token.
    this.#tokens -= 1;
    return this.#tokens >= 0 ? 0 : (-this.#tokens / this.#options.perSecond) * 1_000;
  }

  /** Takes a token; false if there is none. It schedules nothing. */
  take(): boolean {
    this.#refill();
    if (this.#tokens < 1) return false;
    this.#tokens -= 1;
    return true;
  }

  #refill(): void {
    const { perSecond, burst } = this.#options;
    const now = this.#clock.monotonic();
    this.#tokens = Math.min(burst, this.#tokens + ((now - this.#at) / 1_000) * perSecond);
    this.#at = now;
  }

  failures(): number {
    return 0;
  }

  forget(): void {
    // Nothing to forget: tokens refill with time.
  }
}

/** A limiter with the longest delay of several. */
export function slowestOf<K>(...limiters: readonly RateLimiter<K>[]): RateLimiter<K> {
  return {
    when: (key, error) => Math.max(...limiters.map((limiter) => limiter.when(key, error))),
    failures: (key) => Math.max(...limiters.map((limiter) => limiter.failures(key))),
    forget: (key) => {
      for (const limiter of limiters) limiter.forget(key);
    },
  };
}
