import type { ProviderClock } from '../http/provider-clock.js';

/** Time between two observations of the result of an operation in progress, milliseconds. */
const observeMs = 60_000;
const operationsMax = 10_000;

/** Operations in progress, whose results are observed from time to time. */
export class RunningOperations {
  readonly #clock: ProviderClock;
  /** Monotonic times since which an operation runs, or its result was last observed. */
  readonly #since = new Map<string, number>();

  constructor(clock: ProviderClock) {
    this.#clock = clock;
  }

  /** Records the state of a poll. Returns whether the result of the operation is to be observed now. */
  isObservationDue(operation: string, runs: boolean): boolean {
    if (!runs) {
      this.#since.delete(operation);
      return false;
    }
    const now = this.#clock.monotonic();
    const since = this.#since.get(operation);
    if (since !== undefined && now - since < observeMs) return false;
    if (since === undefined && this.#since.size >= operationsMax) this.#since.clear();
    this.#since.set(operation, now);
    return since !== undefined;
  }
}
