import type { Clock } from './clock.js';

/** Below the 20 ms that a synchronous slice may take, with room for the step that crosses it. */
const sliceMs = 4;
/** Small steps between looks at the clock. */
const stride = 32;

/**
 * Breaks long work on many small items into slices, so that the event loop stays free:
 * `if (slice.due()) await slice.pause();` after each item. All work on one clock shares the budget
 * of a turn: ten loops that slice are no slower for others than one.
 */
export class TimeSlice {
  readonly #clock: Clock;
  readonly #stride: number;
  #steps = 0;

  /** @param options `everyStep`: the items are not that small, look at the clock after each. */
  constructor(clock: Clock, options: { readonly everyStep?: boolean } = {}) {
    this.#clock = clock;
    this.#stride = options.everyStep ? 1 : stride;
    // A turn's age counts from when it is first asked for: what is done before the first step counts too.
    clock.turnAgeMs();
  }

  /** Counts one item; true when the slice is used up. */
  due(): boolean {
    this.#steps += 1;
    if (this.#steps % this.#stride !== 0) return false;
    return this.#clock.turnAgeMs() >= sliceMs;
  }

  /** Lets everything else run, then goes on. */
  async pause(): Promise<void> {
    // Others may have used up the new turn before it is ours.
    do await new Promise<void>((resolve) => this.#clock.defer(resolve));
    while (this.#clock.turnAgeMs() >= sliceMs);
  }
}
