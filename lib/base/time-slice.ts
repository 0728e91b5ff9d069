import type { Clock } from './clock.js';

/** Less than the 20 ms that a synchronous slice may take, so that a step that exceeds the slice still fits. */
const sliceMs = 4;
/** Steps between two reads of the clock. */
const stride = 32;

/** Work that waits for a turn, by clock; the longest wait is first. */
const waiting = new WeakMap<Clock, (() => void)[]>();

function waitersOf(clock: Clock): (() => void)[] {
  const known = waiting.get(clock);
  if (known) return known;
  const waiters: (() => void)[] = [];
  waiting.set(clock, waiters);
  return waiters;
}

/**
 * Breaks long work on many small items into slices, so that the event loop stays free: `if (slice.due()) await
 * slice.pause();` after each item. All work on one clock shares the budget of a turn: ten sliced loops delay other
 * work no more than one does, and each loop continues after at most as many turns as there are other loops,
 * regardless of their remaining work.
 */
export class TimeSlice {
  readonly #clock: Clock;
  readonly #stride: number;
  readonly #waiters: (() => void)[];
  #steps = 0;

  /** @param options `everyStep`: read the clock after each item, because items are large */
  constructor(clock: Clock, options: { readonly everyStep?: boolean } = {}) {
    this.#clock = clock;
    this.#waiters = waitersOf(clock);
    this.#stride = options.everyStep ? 1 : stride;
    // The age of a turn starts at its first query, so that work before the first step counts too.
    clock.turnAgeMs();
  }

  /** Counts one item; true when the slice is used up and the caller must pause. */
  due(): boolean {
    this.#steps += 1;
    if (this.#steps % this.#stride !== 0) return false;
    return this.#clock.turnAgeMs() >= sliceMs;
  }

  /** Yields to other work, then continues. */
  pause(): Promise<void> {
    return new Promise((resolve) => {
      this.#waiters.push(resolve);
      this.#clock.defer(() => this.#serve());
    });
  }

  /**
   * Resumes the loop that has waited longest, or defers again if the budget of the turn is used up. Each pause defers
   * one call, which may resume any waiter: a call bound to its own waiter would let the loop that used up a turn, and
   * so deferred first, run first in every turn.
   */
  #serve(): void {
    if (this.#clock.turnAgeMs() >= sliceMs) this.#clock.defer(() => this.#serve());
    else this.#waiters.shift()?.();
  }
}
