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
  readonly #stride: number;
  #startedAt: number;
  #steps = 0;

  /** @param options `everyStep`: the items are not that small, look at the clock after each. */
  constructor(clock: Clock, options: { readonly everyStep?: boolean } = {}) {
    this.#clock = clock;
    this.#stride = options.everyStep ? 1 : stride;
    this.#startedAt = clock.monotonic();
  }

  /** Counts one item; true when the slice is used up. */
  due(): boolean {
    this.#steps += 1;
    if (this.#steps % this.#stride !== 0) return false;
    return this.#clock.monotonic() - this.#startedAt >= sliceMs;
  }

  /** The event loop had its turn meanwhile. */
  restart(): void {
    this.#startedAt = this.#clock.monotonic();
  }

  /** Lets everything else run, then begins a new slice. */
  async pause(): Promise<void> {
    await new Promise<void>((resolve) => this.#clock.defer(resolve));
    this.restart();
  }
}
