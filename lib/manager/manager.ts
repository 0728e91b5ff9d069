import {
  type Clock,
  type Logger,
  messageOf,
  type Metrics,
  type Random,
  silentLogger,
  sleep,
  StatusError,
  systemClock,
  systemRandom,
} from '../base/index.js';
import { CauseRegistry, type Controller } from '../controller/index.js';
import type { LeaderElector } from '../election/index.js';
import { SharedInformer } from '../informer/index.js';
import type { AnyKind, ApiObject, Kind } from '../object/index.js';
import { isEmbedded, type ObjectStore } from '../store/index.js';
import { Candidacy, type LeaderElection } from './candidacy.js';
import type { HealthCheck } from './health.js';

const metricsRefreshMs = 1_000;

/** Something with a life of its own that a manager starts and stops. */
export interface Runnable {
  readonly name: string;
  /** False: runs on every candidate, not only on the leader. Default true, as controller-runtime has it. */
  readonly needsLeaderElection?: boolean;
  start(): Promise<void>;
  /** Must resolve within the budget it is given, in milliseconds. */
  stop(budgetMs: number): Promise<void>;
}

/** Ports of a manager. */
export interface ManagerOptions {
  readonly store: ObjectStore;
  readonly clock?: Clock;
  readonly random?: Random;
  readonly logger?: Logger;
  readonly metrics?: Metrics;
  /** A cache that has not synced after this long fails the start; default 2 minutes. */
  readonly syncTimeoutMs?: number;
  /** A reconcile that runs longer than this makes the manager unhealthy; default 5 minutes. */
  readonly stuckAfterMs?: number;
  /**
   * Controllers run only while this process leads. Until then it is a warm standby: its caches are
   * synced and its queues filled. Give controllers {@link Manager.store}: what it writes is fenced.
   */
  readonly leaderElection?: LeaderElection;
  /** Pause between compactions of the store's history; default 60 s. */
  readonly compactionIntervalMs?: number;
}

/**
 * Starts and stops the parts of a process in order: caches, then controllers, then other runnables
 * in the order they were added; the reverse to stop. Informers are shared by kind.
 *
 * A manager that led and lost its leadership stops for good: what it had begun may be in any state,
 * so a new process (or a new manager) starts from what is stored.
 */
export class Manager {
  readonly #options: ManagerOptions;
  readonly #clock: Clock;
  readonly #logger: Logger;
  readonly #informers = new Map<string, SharedInformer>();
  /** The kind that each informer was made for. */
  readonly #kinds = new Map<string, AnyKind>();
  readonly #controllers: Controller[] = [];
  readonly #runnables: Runnable[] = [];
  readonly #housekeeping = new AbortController();
  /** Give it to controllers whose causes are to reach from one to the other. */
  readonly causes = new CauseRegistry();
  readonly #candidacy: Candidacy | undefined;
  #started: Runnable[] = [];
  #state: 'new' | 'started' | 'stopped' = 'new';
  #stopsAt = 0;

  constructor(options: ManagerOptions) {
    this.#options = options;
    this.#clock = options.clock ?? systemClock;
    this.#logger = options.logger ?? silentLogger;
    if (options.leaderElection)
      this.#candidacy = new Candidacy(options.leaderElection, {
        store: options.store,
        clock: this.#clock,
        random: options.random ?? systemRandom,
        logger: this.#logger,
        lead: (signal) => this.#startWork(signal),
        rest: () => this.#stopWork(),
        lost: () => this.stop(0),
      });
  }

  /** Where controllers write: fenced by the leader's epoch when there is an election. */
  get store(): ObjectStore {
    return this.#candidacy?.store ?? this.#options.store;
  }

  /** The candidate of this process; absent without an election. */
  get elector(): LeaderElector | undefined {
    return this.#candidacy?.elector;
  }

  /** Resolves when controllers were started here: at once without an election. Never when it does not win. */
  elected(): Promise<void> {
    return this.#candidacy?.elected ?? Promise.resolve();
  }

  /**
   * The shared informer of a kind, made at first use.
   * @throws TypeError for another kind of the same name: its objects and indexes would be others.
   */
  informer<T extends ApiObject, S extends string, I extends string>(
    kind: Kind<T, S, I>,
  ): SharedInformer<T, I> {
    const known = this.#informers.get(kind.kind);
    if (known) {
      if (this.#kinds.get(kind.kind) !== kind)
        throw new TypeError(
          `two kinds are named "${kind.kind}": declare the kind once and import it where it is used`,
        );
      // The informer of this very kind, so of its type.
      return known as SharedInformer<T, I>;
    }
    const informer = new SharedInformer<T, I>({
      source: this.#options.store.source(kind),
      name: kind.plural,
      kind: kind.kind,
      clock: this.#clock,
      random: this.#options.random ?? systemRandom,
      logger: this.#logger,
      ...(this.#options.metrics ? { metrics: this.#options.metrics } : {}),
      ...(this.#options.stuckAfterMs ? { stuckAfterMs: this.#options.stuckAfterMs } : {}),
    });
    for (const [name, of] of Object.entries(kind.indexes)) if (of) informer.addIndex(name, of);
    this.#informers.set(kind.kind, informer);
    this.#kinds.set(kind.kind, kind);
    if (this.#state === 'started') informer.start();
    return informer;
  }

  /** @throws TypeError when a controller of that name is there already. */
  addController(controller: Controller): this {
    if (this.#controllers.some((c) => c.name === controller.name))
      throw new TypeError(`two controllers are named "${controller.name}"`);
    this.#controllers.push(controller);
    return this;
  }

  addRunnable(runnable: Runnable): this {
    this.#runnables.push(runnable);
    return this;
  }

  /**
   * Starts everything; when one part fails, those already running are stopped before it rejects.
   * With an election it resolves as a candidate: see {@link elected}.
   */
  async start(): Promise<void> {
    this.#state = 'started';
    for (const informer of this.#informers.values()) informer.start();
    try {
      await this.#waitForCaches();
      await this.#startRunnables((runnable) => !this.#isLeaderWork(runnable));
      if (this.#candidacy) this.#candidacy.start();
      else await this.#startWork();
    } catch (error) {
      await this.stop(0);
      throw error;
    }
    void this.#compact();
    if (this.#options.metrics) void this.#refreshMetrics();
  }

  /** Starts what only one process may do. */
  async #startWork(signal?: AbortSignal): Promise<void> {
    for (const controller of this.#controllers)
      if (signal?.aborted !== true) await controller.start();
    await this.#startRunnables(this.#isLeaderWork, signal);
  }

  async #startRunnables(
    which: (runnable: Runnable) => boolean,
    signal?: AbortSignal,
  ): Promise<void> {
    for (const runnable of this.#runnables.filter(which)) {
      if (signal?.aborted === true) return;
      await runnable.start();
      this.#started.push(runnable);
    }
  }

  readonly #isLeaderWork = (runnable: Runnable): boolean =>
    !this.#candidacy || runnable.needsLeaderElection !== false;

  /** @throws StatusError DeadlineExceeded naming the caches that did not sync. */
  async #waitForCaches(): Promise<void> {
    const timeoutMs = this.#options.syncTimeoutMs ?? 120_000;
    const synced = new AbortController();
    const all = Promise.all([...this.#informers.values()].map((i) => i.waitForCache()));
    await Promise.race([
      all.then(() => synced.abort()),
      sleep(this.#clock, timeoutMs, synced.signal),
    ]);
    if (synced.signal.aborted) return;
    const missing = [...this.#informers]
      .filter(([, informer]) => !informer.hasSynced())
      .map(([name, informer]) => `${name} (${informer.health().message})`);
    throw new StatusError({
      code: 'DeadlineExceeded',
      reason: 'CacheSyncTimeout',
      message: `caches did not sync within ${timeoutMs} ms: ${missing.join(', ')}; look at the log for what their source answers`,
    });
  }

  /** Stops everything in reverse order; all parts share the budget, in milliseconds. */
  async stop(budgetMs: number): Promise<void> {
    if (this.#state === 'stopped') return;
    this.#state = 'stopped';
    this.#housekeeping.abort();
    this.#stopsAt = this.#clock.monotonic() + budgetMs;
    if (this.#candidacy) await this.#candidacy.stop();
    else await this.#stopWork();
    await this.#stopRunnables(() => true);
    await Promise.all([...this.#informers.values()].map((informer) => informer.close()));
  }

  get #stopBudgetMs(): number {
    return Math.max(0, this.#stopsAt - this.#clock.monotonic());
  }

  async #stopWork(): Promise<void> {
    await this.#stopRunnables(this.#isLeaderWork);
    await Promise.all(this.#controllers.map((controller) => controller.stop(this.#stopBudgetMs)));
  }

  async #stopRunnables(which: (runnable: Runnable) => boolean): Promise<void> {
    const stopping = this.#started.filter(which).reverse();
    this.#started = this.#started.filter((runnable) => !which(runnable));
    for (const runnable of stopping) {
      await runnable
        .stop(this.#stopBudgetMs)
        .catch((error: unknown) =>
          this.#logger.error('stop failed', { part: runnable.name, error: messageOf(error) }),
        );
    }
  }

  /** Stops with five seconds' grace. */
  [Symbol.asyncDispose](): Promise<void> {
    return this.stop(5_000);
  }

  /** One line per part that can be sick. */
  health(): readonly HealthCheck[] {
    const store = this.#options.store.health();
    const storeCheck = {
      name: 'store',
      healthy: store.state === 'serving',
      message: 'error' in store ? store.error.message : store.state,
    };
    const caches = [...this.#informers].map(([name, informer]) => ({
      name: `informer ${name}`,
      ...informer.health(),
    }));
    const stuckAfterMs = this.#options.stuckAfterMs ?? 300_000;
    const controllers = this.#controllers.map((controller) => {
      const { longestRunMs, queued } = controller.stats();
      const healthy = longestRunMs <= stuckAfterMs;
      const seconds = Math.round(longestRunMs / 1_000);
      const message = healthy ? `${queued} queued` : `a reconcile has run for ${seconds} s`;
      return { name: `controller ${controller.name}`, healthy, message };
    });
    const election = this.#candidacy ? [this.#candidacy.health()] : [];
    return [storeCheck, ...caches, ...election, ...controllers];
  }

  async #refreshMetrics(): Promise<void> {
    const { signal } = this.#housekeeping;
    while (!signal.aborted) {
      for (const controller of this.#controllers) controller.refreshMetrics();
      await sleep(this.#clock, metricsRefreshMs, signal, { background: true });
    }
  }

  async #compact(): Promise<void> {
    const { store } = this.#options;
    // A store in another process is compacted there.
    if (!isEmbedded(store)) return;
    const { signal } = this.#housekeeping;
    const pauseMs = this.#options.compactionIntervalMs ?? 60_000;
    for (;;) {
      await sleep(this.#clock, pauseMs, signal, { background: true });
      if (signal.aborted) return;
      try {
        await store.compact();
      } catch (error) {
        this.#logger.warn('compaction failed, will retry', { error: messageOf(error) });
      }
    }
  }
}
