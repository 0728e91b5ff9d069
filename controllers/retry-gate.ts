import { backoffDelayMs, type BackoffOptions, type Clock, type Random } from 'kedge';

interface Closed {
  readonly inputs: string;
  readonly failures: number;
  /** Monotonic milliseconds. */
  readonly until: number;
}

/**
 * Keeps a failed call from being made again too soon, whoever wakes the controller: recording the
 * failure is itself a change that wakes it, and would turn backoff into a hot loop. When what the
 * failure depended on changes, the gate is open at once.
 */
export class RetryGate {
  readonly #clock: Clock;
  readonly #random: Random;
  readonly #backoff: BackoffOptions;
  readonly #closed = new Map<string, Closed>();

  constructor(clock: Clock, random: Random, backoff: BackoffOptions) {
    this.#clock = clock;
    this.#random = random;
    this.#backoff = backoff;
  }

  /** Milliseconds until the call may be made; 0 when it may now. */
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
