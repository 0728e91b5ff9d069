import { DriverError } from '../contract/errors.js';
import { pauseOn, type ProviderClock } from './provider-clock.js';

/** The rate limit of a provider, for one credential. */
export interface BudgetRates {
  /** Requests within an hour that the provider documents; its headers may name another number. */
  readonly perHour: number;
  /** The share of an hour's requests that may be made at once. */
  readonly burstShare: number;
}

/** The share of the documented limit that is used: other programs have the same credential. */
const usedShare = 0.96;
/** Longest wait for a slot of the first request of a driver call, milliseconds; a longer one ends the call. */
const firstWaitMsMax = 1_000;
/**
 * The same for its further requests. It is longer, so that a call that was let in comes to its end: a call that is
 * repeated from its begin needs its first requests again, and many such calls would use the budget up for nothing.
 */
const furtherWaitMsMax = 10_000;
/** Requests of a usual driver call, for which room is left between the times that callers are told. */
const requestsOfCall = 2;
/** Longest delay that a caller is told, milliseconds. */
const toldMsMax = 60_000;
const hourMs = 3_600_000;
/** Multiples of it are spread evenly between 0 and 1. */
const spread = 0.618;

/**
 * The request budget of one credential: a token bucket, shared by all volumes that use the credential. Slots are
 * given in the order of the calls. A call that would wait long ends with Throttled and the time of its slot, so that
 * it holds no worker; such times are spread over the rate.
 */
export class RequestBudget {
  readonly #clock: ProviderClock;
  readonly #burstShare: number;
  #intervalMs = 0;
  #burst = 0;
  /** The bucket is full again at this monotonic time; it is never earlier than needed. */
  #fullAt: number;
  /** No request before this monotonic time: the provider has refused one. */
  #closedUntil = 0;
  /** The last slot that was told to a caller. */
  #toldUntil = 0;
  #later = 0;

  constructor(clock: ProviderClock, { perHour, burstShare }: BudgetRates) {
    this.#clock = clock;
    this.#burstShare = burstShare;
    this.#fullAt = clock.monotonic();
    this.adapt(perHour);
  }

  /** Uses another limit, as the provider's headers tell it. */
  adapt(perHour: number): void {
    if (!(perHour > 0)) return;
    const intervalMs = hourMs / (perHour * usedShare);
    const now = this.#clock.monotonic();
    // Requests that were made count as many as before.
    if (this.#fullAt > now && this.#intervalMs > 0)
      this.#fullAt = now + ((this.#fullAt - now) * intervalMs) / this.#intervalMs;
    this.#intervalMs = intervalMs;
    this.#burst = Math.max(1, Math.floor(perHour * this.#burstShare));
  }

  /** Requests that may be made at once. */
  get left(): number {
    const now = this.#clock.monotonic();
    if (now < this.#closedUntil) return 0;
    const used = Math.ceil(Math.max(0, this.#fullAt - now) / this.#intervalMs);
    return Math.max(0, this.#burst - used);
  }

  /** The next slot, in monotonic milliseconds. */
  #slot(now: number): number {
    const tolerance = (this.#burst - 1) * this.#intervalMs;
    return Math.max(now, this.#closedUntil, this.#fullAt - tolerance);
  }

  /**
   * Takes one request of the budget.
   * @param isFurther whether the driver call has made a request before
   * @throws DriverError Throttled with the time of the slot; Timeout when `signal` is aborted
   */
  async take(signal: AbortSignal, isFurther = false): Promise<void> {
    const waitMsMax = isFurther ? furtherWaitMsMax : firstWaitMsMax;
    for (;;) {
      const now = this.#clock.monotonic();
      const slot = this.#slot(now);
      const isClosed = this.#closedUntil - now > firstWaitMsMax;
      if (isClosed || slot - now > waitMsMax) throw this.#throttled(now, slot);
      this.#fullAt = Math.max(this.#fullAt, slot) + this.#intervalMs;
      if (slot <= now) return;
      await pauseOn(this.#clock, slot - now, signal);
      // A refusal closes the budget also for those that had a slot.
      if (this.#clock.monotonic() >= this.#closedUntil) return;
    }
  }

  #throttled(now: number, slot: number): DriverError {
    const at = Math.max(slot, this.#toldUntil);
    this.#toldUntil = Math.min(at + requestsOfCall * this.#intervalMs, now + toldMsMax);
    // Who has no slot within that time comes again later than half of it, not all at one moment.
    this.#later = (this.#later + spread) % 1;
    const laterMs = (toldMsMax * (1 + this.#later)) / 2;
    const retryAfterMs = Math.ceil(at - now < toldMsMax ? at - now : laterMs);
    return new DriverError(
      'Throttled',
      `the request budget of this credential is spent; the next request is due in ${retryAfterMs} ms`,
      { retryAfterMs },
    );
  }

  /** After a refusal: no request for `ms`, and then one at a time, because each earlier request expires alone. */
  close(ms: number): void {
    const now = this.#clock.monotonic();
    this.#closedUntil = Math.max(this.#closedUntil, now + ms);
    this.#fullAt = Math.max(this.#fullAt, this.#closedUntil + (this.#burst - 1) * this.#intervalMs);
  }

  /** Never more than the provider says is left. */
  observe(remaining: number): void {
    const used = this.#burst - Math.max(0, Math.floor(remaining));
    if (used > 0)
      this.#fullAt = Math.max(this.#fullAt, this.#clock.monotonic() + used * this.#intervalMs);
  }
}
