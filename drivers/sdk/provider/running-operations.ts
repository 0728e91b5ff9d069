import type { ProviderClock } from '../http/provider-clock.js';

/** Time between two observations of the result of an operation in progress, milliseconds. */
const observeMs = 60_000;
const operationsMax = 10_000;

/** The shortest and longest delay between two polls of an operation, milliseconds. */
const pollMsMin = 2_000;
const pollMsMax = 15_000;

/** Times of an operation in progress, monotonic. */
interface Times {
  /** The first poll. */
  readonly began: number;
  /** The last observation of the result; the first poll before there is one. */
  readonly observed: number;
}

/** Operations in progress, whose results are observed from time to time. */
export class RunningOperations {
  readonly #clock: ProviderClock;
  readonly #times = new Map<string, Times>();

  constructor(clock: ProviderClock) {
    this.#clock = clock;
  }

  /** Records the state of a poll. Returns whether the result of the operation is to be observed now. */
  isObservationDue(operation: string, runs: boolean): boolean {
    if (!runs) {
      this.#times.delete(operation);
      return false;
    }
    const now = this.#clock.monotonic();
    const times = this.#times.get(operation);
    if (times && now - times.observed < observeMs) return false;
    if (!times && this.#times.size >= operationsMax) this.#times.clear();
    this.#times.set(operation, { began: times?.began ?? now, observed: now });
    return times !== undefined;
  }

  /** The delay until the next poll of an operation, milliseconds. It grows with the time that the operation takes. */
  pollAfterMs(operation: string): number {
    const now = this.#clock.monotonic();
    const { began = now } = this.#times.get(operation) ?? {};
    return Math.min(pollMsMax, Math.max(pollMsMin, (now - began) / 2));
  }
}
