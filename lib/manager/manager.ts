import {
  type Clock,
  failedPrecondition,
  holdProcess,
  linkSignals,
  type Logger,
  messageOf,
  type Runnable,
  sleep,
  within,
} from '../base/index.js';
import type { CauseRegistry, Controller } from '../controller/index.js';
import type { LeaderElector } from '../election/index.js';
import type { SharedInformer } from '../informer/index.js';
import type { ApiObject, Kind } from '../object/index.js';
import type { ObjectStore } from '../store/index.js';
import { Candidacy } from './candidacy.js';
import { type HealthCheck, managerHealth, storeHealth } from './health.js';
import { keepHouse } from './housekeeping.js';
import {
  demandManagerOptions,
  type ManagerOptions,
  type ManagerPorts,
  portsOf,
  type RunOptions,
} from './manager-options.js';
import {
  demandMove,
  demandNotStopped,
  type ManagerState,
  stoppedWhileStarting,
} from './manager-state.js';
import type { Part } from './part.js';
import { Parts } from './parts.js';
import { aborted, untilSignalled } from './process-signals.js';
import { SharedInformers, syncTimeout } from './shared-informers.js';
import { demandBudget, disposeBudgetMs, runStopBudgetMs, StopBudget } from './stop-budget.js';

/**
 * Starts and stops the parts of a process in order: caches, then controllers, then other runnables
 * in the order they were added; the reverse to stop. Informers are shared by kind.
 *
 * | State      | Means                                        | `start`          | `stop`               | `add...`, new `informer` |
 * | ---------- | -------------------------------------------- | ---------------- | -------------------- | ------------------------ |
 * | `new` | nothing runs | starts | ends it | kept for the start |
 * | `starting` | parts are started, one after the other       | the same promise | ends the start first | started with the others  |
 * | `running`  | everything runs; or stands by, see below     | the same promise | stops                | started at once          |
 * | `stopping` | parts are stopped, one after the other       | refused          | the same promise     | refused                  |
 * | `stopped` | nothing runs, except abandoned parts | refused | the same promise | refused |
 *
 * - All other methods may be called in any state. Refused means FailedPrecondition, reason ManagerStopped.
 * - A manager runs once. When a part can't be started, those that run are stopped and `start` rejects. If a part
 *   that is added to a running manager can't be started, this is logged and makes it unhealthy.
 * - While it starts, runs and stops it keeps the process running.
 *
 * With an election, controllers and runnables that need the leader wait while another process leads. A manager that
 * lost its leadership stops: its work may be in any state, so a new process (or manager) must start from the stored
 * state.
 */
export class Manager {
  readonly #options: ManagerOptions;
  readonly #clock: Clock;
  readonly #logger: Logger;
  readonly #informers: SharedInformers;
  readonly #parts: Parts;
  /**
   * Ports for the controllers of this manager: a controller without them has no metrics and logs.
   *
   * @example
   * newController({ ...manager.ports, name: 'lamp', reconcile }).for(lampInformer);
   */
  readonly ports: ManagerPorts;
  readonly #candidacy: Candidacy | undefined;
  /** Aborts when the manager stops. */
  readonly #ending = new AbortController();
  readonly #elected: Promise<void>;
  #resolveElected: () => void = () => undefined;
  #rejectElected: (error: Error) => void = () => undefined;
  #state: ManagerState = 'new';
  /** Describes what the start waits for now. */
  #waitsFor: () => string = () => '';
  /** While this process leads and has started its work. */
  #leading: AbortSignal | undefined;
  #starting: Promise<void> | undefined;
  #stopping: Promise<void> | undefined;
  /** Shared by the stop and the end of the leader's work. */
  #budget: StopBudget | undefined;
  /** The cause of an involuntary end. */
  #failure: { readonly error: unknown } | undefined;
  #hold: Disposable | undefined;

  /**
   * @throws StatusError InvalidArgument, RangeError for an invalid election
   * @throws TypeError, RangeError for an invalid option, such as a time that is not above 0
   */
  constructor(options: ManagerOptions) {
    demandManagerOptions(options);
    this.#options = options;
    this.ports = portsOf(options);
    const { clock, random, logger } = this.ports;
    this.#clock = clock;
    this.#logger = logger;
    const { store, metrics, stuckAfterMs } = options;
    const ports = { store, clock, random, logger };
    this.#informers = new SharedInformers({ ...ports, metrics, stuckAfterMs });
    this.#parts = new Parts({ logger, abortsWork: () => this.#candidacy?.lost === true });
    this.#elected = new Promise((resolve, reject) => {
      this.#resolveElected = resolve;
      this.#rejectElected = reject;
    });
    // Nobody need wait for it.
    this.#elected.catch(() => undefined);
    if (options.leaderElection)
      this.#candidacy = new Candidacy(options.leaderElection, {
        ...ports,
        lead: (signal) => this.#lead(signal),
        rest: (budgetMs) => this.#stopLeaderWork(budgetMs),
        lost: (error, budgetMs) => this.#endForLoss(error, budgetMs),
      });
  }

  /** Shared by controllers to trace causes across them; part of {@link ports}. */
  get causes(): CauseRegistry {
    return this.ports.causes;
  }

  get state(): ManagerState {
    return this.#state;
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
    return this.#elected;
  }

  /**
   * The shared informer of a kind, made at first use.
   * @throws TypeError for another kind of the same name, whose objects and indexes would differ
   * @throws StatusError FailedPrecondition, reason ManagerStopped, for a new one after it was stopped
   */
  informer<T extends ApiObject, S extends string, I extends string>(
    kind: Kind<T, S, I>,
  ): SharedInformer<T, I> {
    const known = this.#informers.find(kind);
    if (known) return known;
    demandNotStopped(this.#state, `the informer of ${kind.kind} can't be added`);
    const informer = this.#informers.make(kind);
    if (this.#state !== 'new') informer.start();
    return informer;
  }

  /**
   * Adds a controller; a running manager starts it at once.
   * @throws TypeError for a second controller of that name
   * @throws StatusError FailedPrecondition, reason ManagerStopped
   */
  addController(controller: Controller): this {
    demandNotStopped(this.#state, `controller ${controller.name} can't be added`);
    this.#parts.addController(controller);
    this.#startAdded();
    return this;
  }

  /**
   * Adds a runnable; a running manager starts it at once.
   * @throws StatusError FailedPrecondition, reason ManagerStopped
   */
  addRunnable(runnable: Runnable): this {
    demandNotStopped(this.#state, `runnable ${runnable.name} can't be added`);
    this.#parts.addRunnable(runnable);
    this.#startAdded();
    return this;
  }

  /**
   * Starts everything; when one part fails, those already running are stopped before it rejects.
   * With an election it resolves as a candidate: see {@link elected}.
   * @throws StatusError DeadlineExceeded, reason CacheSyncTimeout, that names the caches that did not sync
   * @throws StatusError Cancelled, reason ManagerStopped, when {@link stop} is called meanwhile
   * @throws StatusError FailedPrecondition, reason ManagerStopped, when it was called before
   */
  async start(): Promise<void> {
    demandNotStopped(this.#state, "it can't be started");
    if (!this.#starting) {
      this.#move('starting');
      this.#hold = holdProcess(this.#clock);
      this.#starting = Promise.resolve().then(() => this.#start());
    }
    return this.#starting;
  }

  async #start(): Promise<void> {
    const { signal } = this.#ending;
    try {
      await this.#startAll(signal);
    } catch (error) {
      const failure = signal.aborted ? stoppedWhileStarting(this.#waitsFor()) : error;
      if (!signal.aborted) this.#failure = { error };
      // Parts that could not be stopped are in the log and in the error of the stop.
      await this.stop(disposeBudgetMs).catch(() => undefined);
      throw failure;
    }
  }

  async #startAll(signal: AbortSignal): Promise<void> {
    this.#informers.start();
    this.#step(() => `the caches of ${this.#informers.unsynced.join(', ')}`, signal);
    await this.#informers.waitForCaches(this.#syncTimeoutMs, signal);
    const candidacy = this.#candidacy;
    await this.#startDue((part) => !candidacy || !part.needsLeaderElection, signal);
    this.#step(() => 'the election', signal);
    if (candidacy) await candidacy.start();
    else this.#resolveElected();
    this.#step(() => '', signal);
    this.#move('running');
    this.#keepHouse(signal);
    this.#startAdded();
  }

  get #syncTimeoutMs(): number {
    return this.#options.syncTimeoutMs ?? 120_000;
  }

  #keepHouse(signal: AbortSignal): void {
    const { store, metrics, compactionIntervalMs = 60_000 } = this.#options;
    const refreshMetrics = metrics ? () => this.#parts.refreshMetrics() : undefined;
    const ports = { store, clock: this.#clock, logger: this.#logger };
    keepHouse({ ...ports, compactionIntervalMs, refreshMetrics }, signal);
  }

  /** Notes what the start waits for from here on. @throws StatusError Cancelled once it is stopping */
  #step(waitsFor: () => string, signal: AbortSignal): void {
    if (signal.aborted) throw stoppedWhileStarting(this.#waitsFor());
    this.#waitsFor = waitsFor;
  }

  /** Starts waiting parts one after the other, including those that are added meanwhile. */
  async #startDue(which: (part: Part) => boolean, signal: AbortSignal): Promise<void> {
    for (;;) {
      const next = this.#parts.waiting.find(which);
      if (!next) return;
      this.#step(() => next.describedStart, signal);
      await this.#inTime(next, next.start(signal));
    }
  }

  /** A controller waits for caches and handlers, with a timeout; a runnable has no timeout. */
  async #inTime(part: Part, start: Promise<void>): Promise<void> {
    if (!part.isController) return start;
    const timeoutMs = this.#syncTimeoutMs;
    const outcome = await within(start, (over) => sleep(this.#clock, timeoutMs, over));
    if (outcome.type === 'failed') throw outcome.error;
    if (outcome.type === 'late') throw syncTimeout(timeoutMs, part.describedStart);
  }

  /** Starts a part that was added to a running manager, unless it waits for the election. */
  #startAdded(): void {
    if (this.#state !== 'running') return;
    const ending = this.#ending.signal;
    for (const part of this.#parts.waiting) {
      const signal = this.#candidacy && part.needsLeaderElection ? this.#leading : ending;
      if (signal && !signal.aborted) this.#parts.startLate(part, signal);
    }
  }

  /** Starts leader-only parts. */
  async #lead(leading: AbortSignal): Promise<void> {
    using link = linkSignals(leading, this.#ending.signal);
    await this.#startDue((part) => part.needsLeaderElection, link.signal);
    this.#waitsFor = () => '';
    this.#leading = leading;
    this.#resolveElected();
    this.#startAdded();
  }

  /**
   * Stops everything in reverse order; all parts share the budget in milliseconds (at least 100). It ends within
   * the budget: a hanging part is abandoned, and the others are stopped. Further calls return the same promise: the
   * first budget applies.
   * @throws StatusError DeadlineExceeded, reason StopTimeout, that names abandoned parts, or Unknown, reason
   * StopFailed, that names failed ones; all others are stopped then
   * @throws RangeError for a budget that is negative or not finite
   */
  async stop(budgetMs: number): Promise<void> {
    demandBudget(budgetMs);
    if (!this.#stopping) {
      // Set first: listeners of the abort may call again.
      this.#stopping = Promise.resolve().then(() => this.#stop(budgetMs));
      this.#move('stopping');
      this.#ending.abort();
    }
    return this.#stopping;
  }

  async #stop(budgetMs: number): Promise<void> {
    const budget = (this.#budget ??= new StopBudget(this.#clock, budgetMs));
    if (this.#candidacy) {
      this.#candidacy.withdraw();
      await this.#stopLeaderWork(budgetMs);
      await this.#candidacy.stop(budget);
    }
    await this.#parts.stop(() => true, budget);
    await budget.wait('informers', 'their end', this.#informers.close());
    this.#move('stopped');
    this.#hold?.[Symbol.dispose]();
    this.#rejectElected(
      failedPrecondition('ManagerStopped', 'the manager was stopped before it was elected'),
    );
    if (!budget.error) return;
    this.#logger.error('stop is incomplete', { error: budget.error.message });
    throw budget.error;
  }

  async #stopLeaderWork(budgetMs: number): Promise<void> {
    this.#budget ??= new StopBudget(this.#clock, budgetMs);
    await this.#parts.stop((part) => part.needsLeaderElection, this.#budget);
  }

  #endForLoss(error: Error, budgetMs: number): void {
    this.#failure ??= { error };
    this.stop(budgetMs)
      .catch(() => undefined)
      .then(this.#options.leaderElection?.onLost)
      .catch((thrown: unknown) => this.#logger.error('onLost threw', { error: messageOf(thrown) }));
  }

  /**
   * Starts, and runs until SIGTERM, SIGINT, or until `signal` aborts; then stops within
   * `stopBudgetMs` and resolves, so that the program ends with exit code 0. A second SIGTERM or SIGINT
   * ends the process at once, with exit code 143 or 130. A second SIGINT within 200 ms is the same
   * Ctrl-C: npm sends it again to what it runs.
   *
   * Joins a manager that was started before, and resolves when {@link stop} is called elsewhere.
   * @throws StatusError errors of {@link start} and {@link stop}
   * @throws StatusError FailedPrecondition, reason LeadershipLost, when it led and lost its lease
   * @throws RangeError at once for a budget that is negative or not finite
   * @example
   * await using store = await openStore({ engine });
   * const manager = new Manager({ store }).addController(controller);
   * await manager.run();
   */
  async run(signal?: AbortSignal, options: RunOptions = {}): Promise<void> {
    const { stopBudgetMs = runStopBudgetMs } = options;
    demandBudget(stopBudgetMs);
    demandNotStopped(this.#state, "it can't run");
    using asked = untilSignalled(this.#clock, signal);
    const starting = asked.signal.aborted ? Promise.resolve() : this.start();
    // It ends the start, whose error is reported: the failure below is decisive.
    starting.catch(() => undefined);
    using over = linkSignals(asked.signal, this.#ending.signal);
    await aborted(over.signal);
    await this.stop(stopBudgetMs).catch((error: unknown) => {
      this.#failure ??= { error };
    });
    if (this.#failure) throw this.#failure.error;
  }

  /** Stops with five seconds' grace. */
  [Symbol.asyncDispose](): Promise<void> {
    return this.stop(disposeBudgetMs);
  }

  /** One entry per part with a health; the manager itself is healthy while it runs. */
  health(): readonly HealthCheck[] {
    const { store, stuckAfterMs = 300_000 } = this.#options;
    const election = this.#candidacy ? [this.#candidacy.health()] : [];
    return [
      managerHealth(this.#state, this.#detail),
      storeHealth(store),
      ...this.#informers.health(),
      ...election,
      ...this.#parts.health(stuckAfterMs),
    ];
  }

  get #detail(): string {
    if (this.#failure) return messageOf(this.#failure.error);
    if (this.#state === 'stopped') return this.#budget?.error?.message ?? '';
    const waitsFor = this.#waitsFor();
    return waitsFor === '' ? '' : `waits for ${waitsFor}`;
  }

  #move(next: ManagerState): void {
    demandMove(this.#state, next);
    this.#state = next;
  }
}
