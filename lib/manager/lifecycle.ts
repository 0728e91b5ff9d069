import { type Clock, holdProcess, messageOf, sleep, within } from '../base/index.js';
import {
  type ManagerState,
  requireManagerTransition,
  requireNotStopped,
  stoppedWhileStarting,
} from './manager-state.js';
import type { Part } from './part.js';
import type { Parts } from './parts.js';
import { syncTimeout } from './shared-informers.js';
import { disposeBudgetMs, requireBudget, StopBudget } from './stop-budget.js';

/** The parts of a {@link Lifecycle}. */
export interface LifecyclePorts {
  readonly clock: Clock;
  /** Timeout of the start of one controller, milliseconds. */
  readonly syncTimeoutMs: number;
  /** Starts everything; ends early once `signal` aborts. */
  readonly startAll: (signal: AbortSignal) => Promise<void>;
  /** Called once everything was started and the state is `running`. */
  readonly running: () => void;
  /** Stops everything. Failed and hanging parts are noted in the budget. */
  readonly stopAll: (budget: StopBudget) => Promise<void>;
  /** Called once the state is `stopped`. */
  readonly stopped: (budget: StopBudget) => void;
}

/**
 * The life cycle of a manager, independent of its parts: one start and one stop, each shared by all callers; the
 * budget of a stop; and the cause of an end.
 */
export class Lifecycle {
  readonly #ports: LifecyclePorts;
  /** Aborts when the manager stops. */
  readonly #ending = new AbortController();
  #state: ManagerState = 'new';
  /** Describes the present wait of the start. */
  #waitsFor: () => string = () => '';
  #starting: Promise<void> | undefined;
  #stopping: Promise<void> | undefined;
  /** Shared by the stop and the end of the leader's work. */
  #budget: StopBudget | undefined;
  /** The cause of an involuntary end. */
  #failure: { readonly error: unknown } | undefined;
  #hold: Disposable | undefined;

  constructor(ports: LifecyclePorts) {
    this.#ports = ports;
  }

  get syncTimeoutMs(): number {
    return this.#ports.syncTimeoutMs;
  }

  get state(): ManagerState {
    return this.#state;
  }

  /** Aborts when the manager stops. */
  get ending(): AbortSignal {
    return this.#ending.signal;
  }

  /** The cause of an involuntary end; undefined before one, and after a voluntary end. */
  get failure(): { readonly error: unknown } | undefined {
    return this.#failure;
  }

  /** Records the cause of an involuntary end. Only the first cause is kept. */
  fail(error: unknown): void {
    this.#failure ??= { error };
  }

  /**
   * Checks that the manager is not stopping or stopped.
   * @throws StatusError FailedPrecondition, reason ManagerStopped
   */
  requireNotStopped(what: string): void {
    requireNotStopped(this.#state, what);
  }

  /** The problem, or the awaited parts; empty without any. */
  get detail(): string {
    if (this.#failure) return messageOf(this.#failure.error);
    if (this.#state === 'stopped') return this.#budget?.error?.message ?? '';
    const waitsFor = this.#waitsFor();
    return waitsFor === '' ? '' : `waits for ${waitsFor}`;
  }

  async start(): Promise<void> {
    this.requireNotStopped("it can't be started");
    if (!this.#starting) {
      this.#move('starting');
      this.#hold = holdProcess(this.#ports.clock);
      this.#starting = Promise.resolve().then(() => this.#start());
    }
    return this.#starting;
  }

  async #start(): Promise<void> {
    const signal = this.ending;
    try {
      await this.#ports.startAll(signal);
      this.step(() => '', signal);
      this.#move('running');
      this.#ports.running();
    } catch (error) {
      const failure = signal.aborted ? stoppedWhileStarting(this.#waitsFor()) : error;
      if (!signal.aborted) this.#failure = { error };
      // Parts that could not be stopped are in the log and in the error of the stop.
      await this.stop(disposeBudgetMs).catch(() => undefined);
      throw failure;
    }
  }

  /** Sets the description of what the start waits for from now on. @throws StatusError Cancelled once it is stopping */
  step(waitsFor: () => string, signal: AbortSignal): void {
    if (signal.aborted) throw stoppedWhileStarting(this.#waitsFor());
    this.#waitsFor = waitsFor;
  }

  /** Starts waiting parts one by one, including those that are added meanwhile. */
  async startDue(parts: Parts, which: (part: Part) => boolean, signal: AbortSignal): Promise<void> {
    for (;;) {
      const next = parts.waiting.find(which);
      if (!next) return;
      this.step(() => next.describedStart, signal);
      await this.#inTime(next, next.start(signal));
    }
  }

  /**
   * Waits for the start of a part. A controller, which waits for caches and handlers, has a timeout; a runnable has
   * none.
   * @throws StatusError DeadlineExceeded, reason CacheSyncTimeout; the error of the start
   */
  async #inTime(part: Part, start: Promise<void>): Promise<void> {
    if (!part.isController) return start;
    const timeoutMs = this.#ports.syncTimeoutMs;
    const outcome = await within(start, (over) => sleep(this.#ports.clock, timeoutMs, over));
    if (outcome.type === 'failed') throw outcome.error;
    if (outcome.type === 'late') throw syncTimeout(timeoutMs, part.describedStart);
  }

  /** Clears the description of the wait. */
  settle(): void {
    this.#waitsFor = () => '';
  }

  /** The budget of the stop, which starts with the first call. */
  budget(budgetMs: number): StopBudget {
    return (this.#budget ??= new StopBudget(this.#ports.clock, budgetMs));
  }

  async stop(budgetMs: number): Promise<void> {
    requireBudget(budgetMs);
    if (!this.#stopping) {
      // Set before the abort, because listeners of the abort may call `stop` again.
      this.#stopping = Promise.resolve().then(() => this.#stop(budgetMs));
      this.#move('stopping');
      this.#ending.abort();
    }
    return this.#stopping;
  }

  async #stop(budgetMs: number): Promise<void> {
    const budget = this.budget(budgetMs);
    await this.#ports.stopAll(budget);
    this.#move('stopped');
    this.#hold?.[Symbol.dispose]();
    this.#ports.stopped(budget);
    if (budget.error) throw budget.error;
  }

  #move(next: ManagerState): void {
    requireManagerTransition(this.#state, next);
    this.#state = next;
  }
}
