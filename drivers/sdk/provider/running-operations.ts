import type { ProviderClock } from '../http/provider-clock.js';

/** Time between two looks for the result of an operation in progress, milliseconds. */
const lookMs = 60_000;
const operationsMax = 10_000;

/** Operations in progress, which are looked up by their result from time to time. */
export class RunningOperations {
  readonly #clock: ProviderClock;
  /** Monotonic times since which an operation runs, or was last looked up. */
  readonly #since = new Map<string, number>();

  constructor(clock: ProviderClock) {
    this.#clock = clock;
  }

  /** Takes note of what a poll has shown. Whether its result is to be looked up now. */
  isLookDue(operation: string, runs: boolean): boolean {
    if (!runs) {
      this.#since.delete(operation);
      return false;
    }
    const now = this.#clock.monotonic();
    const since = this.#since.get(operation);
    if (since !== undefined && now - since < lookMs) return false;
    if (since === undefined && this.#since.size >= operationsMax) this.#since.clear();
    this.#since.set(operation, now);
    return since !== undefined;
  }
}
