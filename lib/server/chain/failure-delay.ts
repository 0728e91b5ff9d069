import { type Clock, sleep } from '../../base/index.js';

/** Number of failures without a delay, because people mistype. */
const freeFailures = 3;
/** The first delay, which doubles with each further failure, and the longest. */
const firstDelayMs = 100;
const delayMaxMs = 5_000;
/** Time without a failure after which a peer's count is reset. */
const forgetMs = 60_000;
/** Maximum number of tracked peers; the one that has not failed for the longest time is evicted. */
const peersMax = 4_096;
/**
 * Maximum number of answers that are delayed at once: more would cost the server more than the client. Further
 * failures are answered without delay.
 */
const heldMax = 256;

/**
 * Delays repeated failures of one peer increasingly, to slow down guessing. Successful calls are never delayed, and the
 * answer is the same.
 */
export class FailureDelay {
  readonly #clock: Clock;
  readonly #failures = new Map<string, { count: number; lastMs: number }>();
  #held = 0;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Counts a failure; resolves when it may be answered. */
  async failed(peer: string, signal: AbortSignal): Promise<void> {
    const delayMs = this.#count(peer);
    if (delayMs === 0 || this.#held >= heldMax) return;
    this.#held += 1;
    try {
      await sleep(this.#clock, delayMs, signal);
    } finally {
      this.#held -= 1;
    }
  }

  #count(peer: string): number {
    const now = this.#clock.monotonic();
    const known = this.#failures.get(peer);
    const count = known && now - known.lastMs < forgetMs ? known.count + 1 : 1;
    // Reinserted, so that the map stays ordered by the last failure.
    this.#failures.delete(peer);
    this.#failures.set(peer, { count, lastMs: now });
    const oldest = this.#failures.keys().next();
    if (this.#failures.size > peersMax && !oldest.done) this.#failures.delete(oldest.value);
    if (count <= freeFailures) return 0;
    return Math.min(delayMaxMs, firstDelayMs * 2 ** Math.min(16, count - freeFailures - 1));
  }
}
