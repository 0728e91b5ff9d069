import type { DriverErrorKind } from '../errors/errors.js';
import { machineClock, type ProviderClock } from './provider-clock.js';
import type { RequestBudget } from './request-budget.js';

/** The metric of the durations of provider calls. A histogram of the library is one. */
export interface CallDurations {
  observe(
    labels: { readonly driver: string; readonly call: string; readonly error: string },
    seconds: number,
  ): void;
}

/** The number of requests that one credential may still make at once. */
export interface BudgetReading {
  readonly driver: string;
  /** An identifier for the credential, from which the credential can't be derived. Each process has another one. */
  readonly credential: string;
  readonly left: number;
}

/** The time for which the oldest operation of a driver has been in progress. */
export interface PendingReading {
  readonly driver: string;
  readonly seconds: number;
}

const pendingMax = 20_000;

/** Collects the metrics of provider calls. */
export class ProviderTelemetry {
  readonly #durations: CallDurations | undefined;
  readonly #clock: ProviderClock;
  readonly #budgets = new Map<string, { readonly driver: string; readonly of: RequestBudget }>();
  readonly #pending = new Map<string, { readonly driver: string; readonly since: number }>();

  constructor(durations?: CallDurations, clock: ProviderClock = machineClock) {
    this.#durations = durations;
    this.#clock = clock;
  }

  /** Records a call that has ended; `error` is undefined for a successful one. */
  called(driver: string, call: string, error: DriverErrorKind | undefined, seconds: number): void {
    this.#durations?.observe({ driver, call, error: error ?? '' }, seconds);
  }

  budget(driver: string, credential: string, of: RequestBudget): void {
    this.#budgets.set(credential, { driver, of });
  }

  forgetBudget(credential: string): void {
    this.#budgets.delete(credential);
  }

  /** Records that an operation is in progress, from its first call of this method on. */
  wentOn(driver: string, operation: string): void {
    const key = `${driver} ${operation}`;
    if (this.#pending.has(key) || this.#pending.size >= pendingMax) return;
    this.#pending.set(key, { driver, since: this.#clock.monotonic() });
  }

  /** Records that an operation has ended, successfully or not. */
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

  /** Returns the age of each driver's oldest operation, since its first {@link wentOn} in this process. */
  oldestPending(): readonly PendingReading[] {
    const now = this.#clock.monotonic();
    const oldest = new Map<string, number>();
    for (const { driver, since } of this.#pending.values())
      oldest.set(driver, Math.max(oldest.get(driver) ?? 0, now - since));
    return [...oldest].map(([driver, ms]) => ({ driver, seconds: ms / 1_000 }));
  }
}
