import type { Clock } from '../../base/index.js';
import { TokenBucket } from '../../workqueue/index.js';
import { ConnectionError, errorCodes } from './frames.js';

/** Number of frames that a client may send at once, and per second afterwards. */
const rate = { burst: 1_000, perSecond: 33 } as const;
/** Maximum number of frames that a client may send because of what it was sent, and has not used. */
const allowedMax = 10_000;

/** Bounds the rate of frames that a well-behaved client sends rarely, such as resets of calls. */
export class Budget {
  readonly #bucket: TokenBucket<never>;
  readonly #what: string;
  /** Frames beyond the rate that are allowed because of what the client was sent. */
  #allowed = 0;

  constructor(clock: Clock, what: string) {
    this.#bucket = new TokenBucket(clock, rate);
    this.#what = what;
  }

  /**
   * Allows more of these frames, because the client was sent something that it may answer with them. Fractions of a frame
   * add up.
   */
  allow(frames: number): void {
    this.#allowed = Math.min(allowedMax, this.#allowed + frames);
  }

  /** Counts one. @throws ConnectionError beyond the budget */
  spend(): void {
    if (this.#allowed >= 1) this.#allowed -= 1;
    else if (!this.#bucket.take())
      throw new ConnectionError(errorCodes.enhanceYourCalm, `too many ${this.#what}`);
  }
}
