import type { Clock } from '../../base/index.js';
import { TokenBucket } from '../../workqueue/index.js';
import { ConnectionError, errorCodes } from './frames.js';

/** Number of frames that a client may send at once, and per second afterwards. */
const rate = { burst: 1_000, perSecond: 33 } as const;

/** Bounds the rate of frames that a well-behaved client sends rarely, such as resets of calls. */
export class Budget {
  readonly #bucket: TokenBucket<never>;
  readonly #what: string;

  constructor(clock: Clock, what: string) {
    this.#bucket = new TokenBucket(clock, rate);
    this.#what = what;
  }

  /** Counts one. @throws ConnectionError beyond the budget */
  spend(): void {
    if (this.#bucket.take()) return;
    throw new ConnectionError(errorCodes.enhanceYourCalm, `too many ${this.#what}`);
  }
}
