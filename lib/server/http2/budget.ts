import type { Clock } from '../../base/index.js';
import { ConnectionError, errorCodes } from './frames.js';

/** A client may do this many at once, and so many per second afterwards. */
const burst = 1_000;
const perSecond = 33;

/** Bounds what a well-behaved client does rarely, such as resets of calls. */
export class Budget {
  readonly #clock: Pick<Clock, 'monotonic'>;
  readonly #what: string;
  #left = burst;
  /** When the budget was last filled up. */
  #filledAt: number;

  constructor(clock: Pick<Clock, 'monotonic'>, what: string) {
    this.#clock = clock;
    this.#what = what;
    this.#filledAt = clock.monotonic();
  }

  /** @throws ConnectionError beyond the budget */
  spend(): void {
    this.#left -= 1;
    if (this.#left > 0) return;
    const now = this.#clock.monotonic();
    const earned = ((now - this.#filledAt) / 1_000) * perSecond;
    this.#filledAt = now;
    this.#left = Math.min(burst, this.#left + earned);
    if (this.#left <= 0)
      throw new ConnectionError(errorCodes.enhanceYourCalm, `too many ${this.#what}`);
  }
}
