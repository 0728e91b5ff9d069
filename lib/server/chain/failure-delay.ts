import { type Clock, sleep } from '../../base/index.js';

/** So many failures are answered at once; people mistype. */
const freeFailures = 3;
const firstDelayMs = 100;
const delayMaxMs = 5_000;
/** Without a failure for so long, a peer starts over. */
const forgetMs = 60_000;
/** Peers that are remembered; the one that failed longest ago makes room. */
const peersMax = 4_096;
/** Answers held back at once: beyond, holding back would cost us more than the other side. */
const heldMax = 256;

/**
 * Answers repeated failures of one peer slower and slower, so that guessing is no use. What succeeds
 * is never held back, and the answer stays the same.
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
    // Set anew, so that the map stays ordered by the last failure.
    this.#failures.delete(peer);
    this.#failures.set(peer, { count, lastMs: now });
    const oldest = this.#failures.keys().next();
    if (this.#failures.size > peersMax && !oldest.done) this.#failures.delete(oldest.value);
    if (count <= freeFailures) return 0;
    return Math.min(delayMaxMs, firstDelayMs * 2 ** Math.min(16, count - freeFailures - 1));
  }
}
