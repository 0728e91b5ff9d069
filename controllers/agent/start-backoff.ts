import { backoffDelayMs, type BackoffOptions, type Clock, type Random } from 'kedge';

interface Closed {
  readonly inputs: string;
  readonly failures: number;
  /** Monotonic milliseconds. */
  readonly until: number;
}

/**
 * Paces the starts of workloads, as their restarts are paced. Runtimes tell of each start that failed, and
 * volumes of each attach that did: both wake the agent, and without a pace of its own it would start again at
 * once. When what a start depends on changes, it is due at once.
 */
export class StartBackoff {
  readonly #clock: Clock;
  readonly #random: Random;
  readonly #backoff: BackoffOptions;
  readonly #closed = new Map<string, Closed>();

  constructor(clock: Clock, random: Random, backoff: BackoffOptions) {
    this.#clock = clock;
    this.#random = random;
    this.#backoff = backoff;
  }

  /** Milliseconds until a start may be tried; 0 when it may now. */
  leftMs(id: string, inputs: string): number {
    const closed = this.#closed.get(id);
    if (closed?.inputs !== inputs) return 0;
    return Math.max(0, closed.until - this.#clock.monotonic());
  }

  /** Counts a failure and gives the wait before the next try, at least `askedMs`. */
  failed(id: string, inputs: string, askedMs = 0): number {
    const before = this.#closed.get(id);
    const failures = before?.inputs === inputs ? before.failures + 1 : 0;
    const delayMs = Math.max(askedMs, backoffDelayMs(this.#backoff, failures, this.#random));
    this.#closed.set(id, { inputs, failures, until: this.#clock.monotonic() + delayMs });
    return delayMs;
  }

  /** Success, or nothing left to try: forgets the failures. */
  clear(id: string): void {
    this.#closed.delete(id);
  }
}
