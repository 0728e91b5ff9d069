import type { Clock } from './clock.js';

/** Below the 20 ms that a synchronous slice may take, with room for the step that crosses it. */
const sliceMs = 6;
/** Steps between looks at the clock. */
const stride = 32;

/**
 * Breaks long work on many small items into slices, so that the event loop stays free:
 * `if (slice.due()) await slice.pause();` after each item.
 */
export class TimeSlice {
  readonly #clock: Clock;
  #startedAt: number;
  #steps = 0;

  constructor(clock: Clock) {
    this.#clock = clock;
    this.#startedAt = clock.monotonic();
  }

  /** Counts one item; true when the slice is used up. */
  due(): boolean {
    this.#steps += 1;
    if (this.#steps % stride !== 0) return false;
    return this.#clock.monotonic() - this.#startedAt >= sliceMs;
  }

  /** Lets everything else run, then begins a new slice. */
  async pause(): Promise<void> {
    await new Promise<void>((resolve) => this.#clock.defer(resolve));
    this.#startedAt = this.#clock.monotonic();
  }
}
