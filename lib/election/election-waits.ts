import { type Clock, linkSignals, type Random, sleep } from '../base/index.js';
import { type ElectionTimes, jitterFactor } from './elector-options.js';

/** The waits of a candidate: between two attempts, and the timeout of one attempt. */
export class ElectionWaits {
  readonly #clock: Clock;
  readonly #random: Random;
  readonly #times: ElectionTimes;

  constructor(clock: Clock, random: Random, times: ElectionTimes) {
    this.#clock = clock;
    this.#random = random;
    this.#times = times;
  }

  /** Waits between two attempts, with jitter so that candidates do not try at the same time. */
  pause(signal: AbortSignal): Promise<void> {
    const jitter = 1 + (jitterFactor - 1) * this.#random.next();
    return sleep(this.#clock, this.#times.retryPeriodMs * jitter, signal);
  }

  /**
   * Waits for the timeout of an attempt, or until `over` aborts. If `signal` aborts meanwhile, because the candidate
   * stops, the wait ends after at most one more retry period.
   */
  async timeout(limitMs: number, signal: AbortSignal, over: AbortSignal): Promise<void> {
    using link = linkSignals(signal, over);
    await sleep(this.#clock, limitMs, link.signal);
    if (!signal.aborted) return;
    await sleep(this.#clock, Math.min(limitMs, this.#times.retryPeriodMs), over);
  }
}
