import { type Clock, type Outcome, sleep, StatusError, within } from '../base/index.js';

/** Minimum budget, so that a part that ends at once can resolve. */
const floorMs = 100;
/** Withheld from the budget of each part, so that parts after a hanging one can still be stopped. */
const reserveMaxMs = 1_000;
const reserveShare = 0.2;

/** The default stop budget of a run, milliseconds. */
export const runStopBudgetMs = 25_000;
/** Budget of a disposal in milliseconds; also for running parts when a start fails. */
export const disposeBudgetMs = 5_000;

/** Checks a stop budget. @throws RangeError for a budget that is negative or not finite */
export function requireBudget(budgetMs: number): void {
  if (!Number.isFinite(budgetMs) || budgetMs < 0)
    throw new RangeError(`stop budget is ${budgetMs} ms; give a finite time, 0 or more`);
}

/** The time budget of a stop, and its errors. */
export class StopBudget {
  readonly #clock: Clock;
  readonly #budgetMs: number;
  readonly #endsAt: number;
  readonly #partsEndAt: number;
  readonly #problems: string[] = [];
  #late = false;

  /** @param budgetMs 0 or more, finite; at least 100 ms are used */
  constructor(clock: Clock, budgetMs: number) {
    this.#clock = clock;
    this.#budgetMs = budgetMs;
    const now = clock.monotonic();
    this.#endsAt = now + Math.max(budgetMs, floorMs);
    this.#partsEndAt = now + budgetMs - Math.min(reserveMaxMs, budgetMs * reserveShare);
  }

  /** The budget that is passed to a part, in milliseconds. */
  get partMs(): number {
    return Math.max(0, this.#partsEndAt - this.#clock.monotonic());
  }

  /**
   * The timeout of the wait for a part. A hanging part uses half of the withheld time, so that some is left for the
   * next one and the sum stays within the budget.
   */
  get #waitMs(): number {
    const leftMs = Math.max(0, this.#endsAt - this.#clock.monotonic());
    return this.partMs + (leftMs - this.partMs) / 2;
  }

  /**
   * Waits for `work` of a part within the budget, and returns its outcome. A part that took too long is noted. Never
   * rejects.
   */
  async wait<T>(part: string, doing: string, work: Promise<T>): Promise<Outcome<T>> {
    const startedAt = this.#clock.monotonic();
    const outcome = await within(work, (over) => sleep(this.#clock, this.#waitMs, over));
    if (outcome.type === 'late') {
      this.#late = true;
      const waitedMs = Math.round(this.#clock.monotonic() - startedAt);
      this.#problems.push(`${part} was abandoned: ${doing} took longer than ${waitedMs} ms`);
    }
    return outcome;
  }

  /** Records a part that could not be stopped. */
  failed(part: string, error: unknown): void {
    const message = error instanceof Error ? error.message : String(error);
    this.#problems.push(`${part} failed to stop: ${message}`);
  }

  /** The error with all recorded failures; undefined without any. */
  get error(): StatusError | undefined {
    if (this.#problems.length === 0) return undefined;
    return new StatusError({
      code: this.#late ? 'DeadlineExceeded' : 'Unknown',
      reason: this.#late ? 'StopTimeout' : 'StopFailed',
      message: `not everything stopped within ${this.#budgetMs} ms: ${this.#problems.join('; ')}`,
    });
  }
}
