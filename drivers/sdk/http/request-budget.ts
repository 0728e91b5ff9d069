import { DriverError } from '../errors/errors.js';
import { pauseOn, type ProviderClock } from './provider-clock.js';

/** The rate limit of a provider for one credential. */
export interface BudgetRates {
  /** Maximum number of requests per hour as documented. The provider's headers may change it later. */
  readonly perHour: number;
  /** The share of the requests of an hour that may be made at once, from 0 to 1. */
  readonly burstShare: number;
}

/** The share of the provider's limit that the budget uses. The rest is for other programs with the credential. */
const usedShare = 0.96;
/** Maximum wait of the first request of a driver call for its slot, milliseconds. A longer wait ends the call. */
const firstWaitMsMax = 1_000;
/**
 * The same for the further requests of the call. It is longer, because a call that ends here is repeated from its
 * beginning: many such calls would use up the budget with repeated requests.
 */
const furtherWaitMsMax = 10_000;
/** The share of the requests that may be made at once which background calls leave to others. */
const reservedShare = 0.5;
/** Usual number of requests of a driver call. The retry times of two callers are that many slots apart. */
const requestsOfCall = 2;
/** Maximum `retryAfterMs` of an error, milliseconds. */
const retryMsMax = 60_000;
const hourMs = 3_600_000;
/** Step of a sequence modulo 1 whose elements are spread evenly between 0 and 1. */
const spread = 0.618;

/**
 * The request budget of one credential: a token bucket, which all volumes with the credential share. Requests get slots
 * in the order of their calls. A call with a late slot ends with Throttled and a time for its retry, so that it
 * occupies no worker. The retry times of several calls differ, so that they do not all come at once.
 */
export class RequestBudget {
  readonly #clock: ProviderClock;
  readonly #burstShare: number;
  #intervalMs = 0;
  #burst = 0;
  /** The monotonic time at which the budget has recovered completely. */
  #fullAt: number;
  /** No request is made before this monotonic time, because the provider has refused one. */
  #closedUntil = 0;
  /** The earliest monotonic time for the retry of the next refused call. */
  #nextRetryAt = 0;
  #later = 0;

  constructor(clock: ProviderClock, { perHour, burstShare }: BudgetRates) {
    this.#clock = clock;
    this.#burstShare = burstShare;
    this.#fullAt = clock.monotonic();
    this.adapt(perHour);
  }

  /** Changes the limit to another number of requests per hour. No-op for numbers that are not positive. */
  adapt(perHour: number): void {
    if (!(perHour > 0)) return;
    const intervalMs = hourMs / (perHour * usedShare);
    const now = this.#clock.monotonic();
    // Used requests stay used: their number is the same with the new interval.
    if (this.#fullAt > now && this.#intervalMs > 0)
      this.#fullAt = now + ((this.#fullAt - now) * intervalMs) / this.#intervalMs;
    this.#intervalMs = intervalMs;
    this.#burst = Math.max(1, Math.floor(perHour * this.#burstShare));
  }

  /** Number of requests that may be made at once. */
  get left(): number {
    const now = this.#clock.monotonic();
    if (now < this.#closedUntil) return 0;
    const used = Math.ceil(Math.max(0, this.#fullAt - now) / this.#intervalMs);
    return Math.max(0, this.#burst - used);
  }

  /** Returns the monotonic time of the next slot. */
  #slot(now: number): number {
    const tolerance = (this.#burst - 1) * this.#intervalMs;
    return Math.max(now, this.#closedUntil, this.#fullAt - tolerance);
  }

  /**
   * Takes one request of the budget, and waits for its slot.
   * @param isFurther whether the same driver call has already made a request, and may wait longer
   * @param isBackground whether the driver call leaves a part of the budget to others
   * @throws DriverError Throttled with the delay until a retry, if the wait would be too long, or if the first request of a
   * background call would use the part of others; Timeout when `signal` is aborted
   */
  async take(signal: AbortSignal, isFurther = false, isBackground = false): Promise<void> {
    if (isBackground && !isFurther && this.left <= Math.floor(this.#burst * reservedShare))
      throw this.#deferred();
    const waitMsMax = isFurther ? furtherWaitMsMax : firstWaitMsMax;
    for (;;) {
      const now = this.#clock.monotonic();
      const slot = this.#slot(now);
      const isClosed = this.#closedUntil - now > firstWaitMsMax;
      if (isClosed || slot - now > waitMsMax) throw this.#throttled(now, slot);
      this.#fullAt = Math.max(this.#fullAt, slot) + this.#intervalMs;
      if (slot <= now) return;
      await pauseOn(this.#clock, slot - now, signal);
      // If the provider refused another request meanwhile, this one needs a new slot.
      if (this.#clock.monotonic() >= this.#closedUntil) return;
    }
  }

  /** A delay between a half and the whole of the maximum, different for each call. */
  #spreadMs(): number {
    this.#later = (this.#later + spread) % 1;
    return Math.ceil((retryMsMax * (1 + this.#later)) / 2);
  }

  /** The refusal of a background call, which does not delay the retries of others. */
  #deferred(): DriverError {
    const retryAfterMs = this.#spreadMs();
    return new DriverError(
      'Throttled',
      `other calls with this credential come first; the next request is due in ${retryAfterMs} ms`,
      { retryAfterMs },
    );
  }

  #throttled(now: number, slot: number): DriverError {
    const at = Math.max(slot, this.#nextRetryAt);
    this.#nextRetryAt = Math.min(at + requestsOfCall * this.#intervalMs, now + retryMsMax);
    const laterMs = this.#spreadMs();
    // Calls without a slot within the maximum are retried at different times.
    const retryAfterMs = at - now < retryMsMax ? Math.ceil(at - now) : laterMs;
    return new DriverError(
      'Throttled',
      `the request budget of this credential is spent; the next request is due in ${retryAfterMs} ms`,
      { retryAfterMs },
    );
  }

  /**
   * Permits no request for `ms` after a refusal by the provider. Then requests are made one by one, because the earlier
   * ones leave the provider's window one by one.
   */
  close(ms: number): void {
    const now = this.#clock.monotonic();
    this.#closedUntil = Math.max(this.#closedUntil, now + ms);
    this.#fullAt = Math.max(this.#fullAt, this.#closedUntil + (this.#burst - 1) * this.#intervalMs);
  }

  /** Reduces the budget to the number of remaining requests in an answer of the provider. Never increases it. */
  observe(remaining: number): void {
    const used = this.#burst - Math.max(0, Math.floor(remaining));
    if (used > 0)
      this.#fullAt = Math.max(this.#fullAt, this.#clock.monotonic() + used * this.#intervalMs);
  }
}
