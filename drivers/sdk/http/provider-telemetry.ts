import type { DriverErrorKind } from '../contract/errors.js';
import { machineClock, type ProviderClock } from './provider-clock.js';
import type { RequestBudget } from './request-budget.js';

/** The duration metric of provider calls; a histogram of the library has this shape. */
export interface CallDurations {
  observe(
    labels: { readonly driver: string; readonly call: string; readonly error: string },
    seconds: number,
  ): void;
}

/** The requests that one credential may still make. */
export interface BudgetReading {
  readonly driver: string;
  /** An identifier of this process for the credential, from which the credential can't be derived. */
  readonly credential: string;
  readonly left: number;
}

/** The operation that has been in progress for the longest time. */
export interface PendingReading {
  readonly driver: string;
  readonly seconds: number;
}

const pendingMax = 20_000;

/** Figures of provider calls, for metrics. */
export class ProviderTelemetry {
  readonly #durations: CallDurations | undefined;
  readonly #clock: ProviderClock;
  readonly #budgets = new Map<string, { readonly driver: string; readonly of: RequestBudget }>();
  readonly #pending = new Map<string, { readonly driver: string; readonly since: number }>();

  constructor(durations?: CallDurations, clock: ProviderClock = machineClock) {
    this.#durations = durations;
    this.#clock = clock;
  }

  /** One call; `error` is absent for success. */
  called(driver: string, call: string, error: DriverErrorKind | undefined, seconds: number): void {
    this.#durations?.observe({ driver, call, error: error ?? '' }, seconds);
  }

  budget(driver: string, credential: string, of: RequestBudget): void {
    this.#budgets.set(credential, { driver, of });
  }

  forgetBudget(credential: string): void {
    this.#budgets.delete(credential);
  }

  /** A call has answered that its operation is in progress. */
  wentOn(driver: string, operation: string): void {
    const key = `${driver} ${operation}`;
    if (this.#pending.has(key) || this.#pending.size >= pendingMax) return;
    this.#pending.set(key, { driver, since: this.#clock.monotonic() });
  }

  /** The operation has ended, however it did. */
  ended(driver: string, operation: string): void {
    this.#pending.delete(`${driver} ${operation}`);
  }

  budgets(): readonly BudgetReading[] {
    return [...this.#budgets].map(([credential, { driver, of }]) => ({
      driver,
      credential,
      left: of.left,
    }));
  }

  /** By driver. Counted from the first pending answer in this process. */
  oldestPending(): readonly PendingReading[] {
    const now = this.#clock.monotonic();
    const oldest = new Map<string, number>();
    for (const { driver, since } of this.#pending.values())
      oldest.set(driver, Math.max(oldest.get(driver) ?? 0, now - since));
    return [...oldest].map(([driver, ms]) => ({ driver, seconds: ms / 1_000 }));
  }
}
