import { type Clock, sleep } from './clock.js';

/**
 * Keeps background work to a share of the time, so that it slows nobody down for longer than a step:
 * `await share.rest()` after each. Under a clock that stands still it never waits.
 */
export class TimeShare {
  readonly #clock: Clock;
  readonly #share: number;
  readonly #signal: AbortSignal;
  #workingSince: number;

  /** @param share More than 0, at most 1: a quarter rests three times as long as it worked. */
  constructor(clock: Clock, share: number, signal: AbortSignal) {
    this.#clock = clock;
    this.#share = share;
    this.#signal = signal;
    this.#workingSince = clock.monotonic();
  }

  /** Resolves when it is this work's turn again, or at once when the signal aborts. */
  async rest(): Promise<void> {
    const workedMs = this.#clock.monotonic() - this.#workingSince;
    const restMs = workedMs * (1 / this.#share - 1);
    if (restMs > 0) await sleep(this.#clock, restMs, this.#signal);
    this.#workingSince = this.#clock.monotonic();
  }
}
