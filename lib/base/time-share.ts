import { type Clock, sleep } from './clock.js';

/**
 * Limits background work to a share of the time, so that it delays other work by at most one step: `await share.rest()`
 * after each step. If the clock stands still, `rest` does not wait.
 */
export class TimeShare {
  readonly #clock: Clock;
  readonly #share: number;
  readonly #signal: AbortSignal;
  #workingSince: number;

  /** @param share above 0, at most 1; 0.25 rests three times as long as it worked */
  constructor(clock: Clock, share: number, signal: AbortSignal) {
    this.#clock = clock;
    this.#share = share;
    this.#signal = signal;
    this.#workingSince = clock.monotonic();
  }

  /** Resolves when the work may continue, or at once if the signal aborts. */
  async rest(): Promise<void> {
    const workedMs = this.#clock.monotonic() - this.#workingSince;
    const restMs = workedMs * (1 / this.#share - 1);
    if (restMs > 0) await sleep(this.#clock, restMs, this.#signal);
    this.#workingSince = this.#clock.monotonic();
  }
}
