import { failedPrecondition, linkSignals, messageOf, type Runnable } from '../base/index.js';
import type { CauseRegistry, Controller } from '../controller/index.js';
import type { LeaderElector } from '../election/index.js';
import type { SharedInformer } from '../informer/index.js';
import type { ApiObject, Kind } from '../object/index.js';
import type { ObjectStore } from '../store/index.js';
import { Candidacy } from './candidacy.js';
import { Elected } from './elected.js';
import { type HealthCheck, managerHealth, storeHealth } from './health.js';
import { startHousekeeping } from './housekeeping.js';
import { Lifecycle } from './lifecycle.js';
import {
  type ManagerOptions,
  type ManagerPorts,
  portsOf,
  requireManagerOptions,
  type RunOptions,
} from './manager-options.js';
import type { ManagerState } from './manager-state.js';
import type { Part } from './part.js';
import { Parts } from './parts.js';
import { aborted, untilSignalled } from './process-signals.js';
import { SharedInformers } from './shared-informers.js';
import { disposeBudgetMs, requireBudget, runStopBudgetMs, type StopBudget } from './stop-budget.js';

const isLeaderOnly = (part: Part): boolean => part.needsLeaderElection;

/**
 * Starts and stops the parts of a process: informers (shared by kind), controllers and other runnables. Its states
 * are those of {@link ManagerState}. While it starts, runs and stops it keeps the process running.
 *
 * Guarantees:
 * - When a part can't be started, those that run are stopped and `start` rejects.
 * - A stop ends within its budget: a hanging part is abandoned, the others are stopped, and the error names it.
 * - With an election, controllers and runnables that need the leader start once this process leads. A manager that
 *   lost its leadership stops: its work may be in any state, so a new one must start from the stored state.
 *
 * Ordering: caches, then controllers, then runnables, in the order they were added. The stop is the reverse, with
 * all controllers at once.
 *
 * Errors: `start` rejects with the error of the part, or names the caches that did not sync. `stop` names the parts
 * that hung or failed. `run` also rejects with LeadershipLost. ManagerStopped: see {@link ManagerState}.
 *
 * Caveats: a manager runs once. If a part that is added to a running manager can't be started, this is logged and
 * makes it unhealthy. Only writes through {@link Manager.store} are fenced. It does not close the store.
 *
 * @example
 * import { done, Manager, newController } from 'kedge';
 *
 * const manager = new Manager({ store });
 * const controller = newController({ ...manager.ports, name: 'lamp', reconcile: async () => done() });
 * manager.addController(controller.for(manager.informer(lamps)));
 * await manager.run(); // until SIGTERM or SIGINT
 */
export class Manager {
  readonly #options: ManagerOptions;
  readonly #informers: SharedInformers;
  readonly #parts: Parts;
  /**
   * Dependencies for the controllers of this manager: its clock, random numbers, logger, metrics and causes. A controller
   * that gets neither these nor others writes no logs and has no metrics.
   */
  readonly ports: ManagerPorts;
  readonly #candidacy: Candidacy | undefined;
  readonly #life: Lifecycle;
  readonly #elected = new Elected();
  /** Aborts when the leadership ends; undefined before this process leads and has started its work. */
  #leading: AbortSignal | undefined;

  /**
   * @throws StatusError InvalidArgument, RangeError for an invalid election
   * @throws TypeError, RangeError for an invalid option, such as a time that is not above 0
   */
  constructor(options: ManagerOptions) {
    requireManagerOptions(options);
    this.#options = options;
    this.ports = portsOf(options);
    const { clock, random, logger } = this.ports;
    const { store, metrics, stuckAfterMs } = options;
    const ports = { store, clock, random, logger };
    this.#informers = new SharedInformers({ ...ports, metrics, stuckAfterMs });
    this.#parts = new Parts({ logger, abortsWork: () => this.#candidacy?.lost === true });
    this.#life = new Lifecycle({
      clock,
      syncTimeoutMs: options.syncTimeoutMs ?? 120_000,
      startAll: (signal) => this.#startAll(signal),
      running: () => {
        const { compactionIntervalMs = 60_000 } = options;
        const refreshMetrics = metrics ? () => this.#parts.refreshMetrics() : undefined;
        const work = { compactionIntervalMs, refreshMetrics };
        startHousekeeping({ store, clock, logger, ...work }, this.#life.ending);
        this.#startAdded();
      },
      stopAll: (budget) => this.#stopAll(budget),
      stopped: (budget) => this.#stopped(budget),
    });
    if (options.leaderElection)
      this.#candidacy = new Candidacy(options.leaderElection, {
        ...ports,
        lead: (signal) => this.#lead(signal),
        rest: (budgetMs) => this.#parts.stop(isLeaderOnly, this.#life.budget(budgetMs)),
        lost: (error, budgetMs) => this.#endForLoss(error, budgetMs),
      });
  }

  /** The registry of causes that controllers share, to trace causes across them; part of {@link ports}. */
  get causes(): CauseRegistry {
    return this.ports.causes;
  }

  get state(): ManagerState {
    return this.#life.state;
  }

  /** The store for controllers: fenced by the leader's epoch with an election. */
  get store(): ObjectStore {
    return this.#candidacy?.store ?? this.#options.store;
  }

  /** The candidate of this process; absent without an election. */
  get elector(): LeaderElector | undefined {
    return this.#candidacy?.elector;
  }

  /**
   * Resolves when controllers were started here: at the start, or when the election is won.
   * @throws StatusError FailedPrecondition, reason ManagerStopped, when the manager is stopped before
   */
  elected(): Promise<void> {
    return this.#elected.promise;
  }

  /**
   * The shared informer of a kind, created at first use.
   * @throws TypeError for another kind of the same name, whose objects and indexes would differ
   * @throws StatusError FailedPrecondition, reason ManagerStopped, for a new one after the stop
   */
  informer<T extends ApiObject, S extends string, I extends string>(
    kind: Kind<T, S, I>,
  ): SharedInformer<T, I> {
    const known = this.#informers.find(kind);
    if (known) return known;
    this.#life.requireNotStopped(`the informer of ${kind.kind} can't be added`);
    const informer = this.#informers.make(kind);
    if (this.#life.state !== 'new') informer.start();
    return informer;
  }

  /**
   * Adds a controller; a running manager starts it at once, with an election once it leads.
   * @throws TypeError for a second controller of that name
   * @throws StatusError FailedPrecondition, reason ManagerStopped
   */
  addController(controller: Controller): this {
    this.#life.requireNotStopped(`controller ${controller.name} can't be added`);
    this.#parts.addController(controller);
    this.#startAdded();
    return this;
  }

  /**
   * Adds a runnable; a running manager starts it at once, or once it leads if the runnable needs the leader.
   * @throws StatusError FailedPrecondition, reason ManagerStopped
   */
  addRunnable(runnable: Runnable): this {
    this.#life.requireNotStopped(`runnable ${runnable.name} can't be added`);
    this.#parts.addRunnable(runnable);
    this.#startAdded();
    return this;
  }

  /**
   * Starts all parts; if one fails, those already running are stopped before it rejects. With an election it resolves
   * as a candidate: see {@link elected}.
   * @throws StatusError DeadlineExceeded, reason CacheSyncTimeout, that names the caches that did not sync
   * @throws StatusError Cancelled, reason ManagerStopped, if {@link stop} is called meanwhile
   * @throws StatusError FailedPrecondition, reason ManagerStopped, if it was called before
   */
  async start(): Promise<void> {
    return this.#life.start();
  }

  async #startAll(signal: AbortSignal): Promise<void> {
    this.#informers.start();
    this.#life.step(() => `the caches of ${this.#informers.unsynced.join(', ')}`, signal);
    await this.#informers.waitForCaches(this.#life.syncTimeoutMs, signal);
    const candidacy = this.#candidacy;
    await this.#life.startDue(
      this.#parts,
      (part) => !candidacy || !part.needsLeaderElection,
      signal,
    );
    this.#life.step(() => 'the election', signal);
    if (candidacy) await candidacy.start();
    else this.#elected.now();
  }

  /** Starts a part that was added to a running manager, unless it waits for the election. */
  #startAdded(): void {
    if (this.#life.state !== 'running') return;
    const ending = this.#life.ending;
    for (const part of this.#parts.waiting) {
      const signal = this.#candidacy && part.needsLeaderElection ? this.#leading : ending;
      if (signal && !signal.aborted) this.#parts.startLate(part, signal);
    }
  }

  /** Starts leader-only parts. */
  async #lead(leading: AbortSignal): Promise<void> {
    using link = linkSignals(leading, this.#life.ending);
    await this.#life.startDue(this.#parts, isLeaderOnly, link.signal);
    this.#life.settle();
    this.#leading = leading;
    this.#elected.now();
    this.#startAdded();
  }

  /**
   * Stops all parts in reverse order; they share the budget in milliseconds (at least 100). It ends within the
   * budget: a hanging part is abandoned, and the others are stopped. Further calls return the same promise: the first
   * budget applies.
   * @throws StatusError DeadlineExceeded, reason StopTimeout, that names abandoned parts, or Unknown, reason
   * StopFailed, that names failed ones; all others are stopped then
   * @throws RangeError for a budget that is negative or not finite
   */
  async stop(budgetMs: number): Promise<void> {
    return this.#life.stop(budgetMs);
  }

  async #stopAll(budget: StopBudget): Promise<void> {
    if (this.#candidacy) {
      this.#candidacy.withdraw();
      await this.#parts.stop(isLeaderOnly, budget);
      await this.#candidacy.stop(budget);
    }
    await this.#parts.stop(() => true, budget);
    await budget.wait('informers', 'their end', this.#informers.close());
  }

  #stopped({ error }: StopBudget): void {
    this.#elected.never(
      failedPrecondition('ManagerStopped', 'the manager was stopped before it was elected'),
    );
    if (error) this.ports.logger.error('stop is incomplete', { error: error.message });
  }

  #endForLoss(error: Error, budgetMs: number): void {
    this.#life.fail(error);
    this.stop(budgetMs)
      .catch(() => undefined)
      .then(this.#options.leaderElection?.onLost)
      .catch((thrown: unknown) =>
        this.ports.logger.error('onLost threw', { error: messageOf(thrown) }),
      );
  }

  /**
   * Starts, and runs until SIGTERM, SIGINT, or until `signal` aborts; then stops within `stopBudgetMs` and resolves,
   * so that the program ends with exit code 0. A second SIGTERM or SIGINT ends the process at once, with exit code
   * 143 or 130. A second SIGINT within 200 ms counts as the same Ctrl-C: npm forwards it to its child too.
   *
   * If the manager was started before, it waits for that start. It resolves when {@link stop} is called elsewhere.
   * @throws StatusError errors of {@link start} and {@link stop}
   * @throws StatusError FailedPrecondition, reason LeadershipLost, if it led and lost its lease
   * @throws RangeError at once for a budget that is negative or not finite
   */
  async run(signal?: AbortSignal, options: RunOptions = {}): Promise<void> {
    const { stopBudgetMs = runStopBudgetMs } = options;
    requireBudget(stopBudgetMs);
    this.#life.requireNotStopped("it can't run");
    using asked = untilSignalled(this.ports.clock, signal);
    const starting = asked.signal.aborted ? Promise.resolve() : this.start();
    // The abort ends the start and its error is reported; this rejection is redundant.
    starting.catch(() => undefined);
    using over = linkSignals(asked.signal, this.#life.ending);
    await aborted(over.signal);
    await this.stop(stopBudgetMs).catch((error: unknown) => this.#life.fail(error));
    if (this.#life.failure) throw this.#life.failure.error;
  }

  /** Stops with a budget of five seconds. */
  [Symbol.asyncDispose](): Promise<void> {
    return this.stop(disposeBudgetMs);
  }

  /** One entry per part with a health; the manager itself is healthy while it runs. */
  health(): readonly HealthCheck[] {
    const { store, stuckAfterMs = 300_000 } = this.#options;
    const election = this.#candidacy ? [this.#candidacy.health()] : [];
    return [
      managerHealth(this.#life.state, this.#life.detail),
      storeHealth(store),
      ...this.#informers.health(),
      ...election,
      ...this.#parts.health(stuckAfterMs),
    ];
  }
}
