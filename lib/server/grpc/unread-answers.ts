import type { Clock } from '../../base/index.js';

/** Maximum bytes of all answers that clients have not read, beyond which the old ones are dropped. */
const allBytesMax = 134_217_728;
/** An answer that has waited for less than this is not dropped: its client may be reading. */
const minimumMs = 2_000;
/** Shorter answers are not counted. */
const countedBytesMin = 4_096;

/** An answer that waits until its client reads it. */
interface UnreadAnswer {
  readonly bytes: number;
  readonly sinceMs: number;
  readonly drop: () => void;
}

/**
 * The complete answers of unary calls that wait for their clients. A client that does not read them, and has no
 * deadline, would fill the memory with them.
 */
export class UnreadAnswers {
  readonly #clock: Pick<Clock, 'monotonic'>;
  readonly #max: number;
  /** Longest wait first. */
  readonly #waiting = new Set<UnreadAnswer>();
  #bytes = 0;

  constructor(clock: Pick<Clock, 'monotonic'>, max = allBytesMax) {
    this.#clock = clock;
    this.#max = max;
  }

  /**
   * Counts an answer that waits for its client. Beyond the limit, drops the oldest ones that have waited for 2 s.
   * @param drop frees the answer
   * @returns a function to call when it was read or the call is over; undefined if the answer is not counted
   */
  begin(bytes: number, drop: () => void): (() => void) | undefined {
    if (bytes < countedBytesMin) return undefined;
    const now = this.#clock.monotonic();
    const answer: UnreadAnswer = { bytes, sinceMs: now, drop };
    this.#waiting.add(answer);
    this.#bytes += bytes;
    for (const oldest of this.#waiting) {
      if (this.#bytes <= this.#max || now - oldest.sinceMs < minimumMs) break;
      this.#end(oldest);
      oldest.drop();
    }
    return () => this.#end(answer);
  }

  #end(answer: UnreadAnswer): void {
    if (this.#waiting.delete(answer)) this.#bytes -= answer.bytes;
  }
}
