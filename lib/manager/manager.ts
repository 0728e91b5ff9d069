import {
  type Clock,
  type Logger,
  messageOf,
  type Random,
  silentLogger,
  sleep,
  systemClock,
  systemRandom,
} from '../base/index.js';
import type { Controller } from '../controller/index.js';
import { SharedInformer } from '../informer/index.js';
import type { ApiObject, Kind } from '../object/index.js';
import type { ObjectStore } from '../store/index.js';

/** Something with a life of its own that a manager starts and stops. */
export interface Runnable {
  readonly name: string;
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
  /** Pause between compactions of the store's history; default 60 s. */
  readonly compactionIntervalMs?: number;
}

/** Health of one part. */
export interface HealthCheck {
  readonly name: string;
  readonly healthy: boolean;
  readonly message: string;
}

/**
 * Starts and stops the parts of a process in order: caches, then controllers, then other runnables
 * in the order they were added; the reverse to stop. Informers are shared by kind.
 */
export class Manager {
  readonly #options: ManagerOptions;
  readonly #clock: Clock;
  readonly #logger: Logger;
  readonly #informers = new Map<string, SharedInformer<never>>();
  readonly #controllers: Controller[] = [];
  readonly #runnables: Runnable[] = [];
  readonly #housekeeping = new AbortController();
  #started: Runnable[] = [];
  #state: 'new' | 'started' | 'stopped' = 'new';

  constructor(options: ManagerOptions) {
    this.#options = options;
    this.#clock = options.clock ?? systemClock;
    this.#logger = options.logger ?? silentLogger;
  }

  /** The shared informer of a kind, made at first use. */
  informer<T extends ApiObject>(kind: Kind<T>): SharedInformer<T> {
    const known = this.#informers.get(kind.kind);
    if (known) return known as unknown as SharedInformer<T>;
    const informer = new SharedInformer<T>({
      source: this.#options.store.source(kind),
      name: kind.plural,
      clock: this.#clock,
      random: this.#options.random ?? systemRandom,
      logger: this.#logger,
    });
    this.#informers.set(kind.kind, informer as unknown as SharedInformer<never>);
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

  /** Starts everything; when one part fails, those already running are stopped before it rejects. */
  async start(): Promise<void> {
    this.#state = 'started';
    for (const informer of this.#informers.values()) informer.start();
    await Promise.all([...this.#informers.values()].map((informer) => informer.waitForSync()));
    try {
      for (const controller of this.#controllers) await controller.start();
      for (const runnable of this.#runnables) {
        await runnable.start();
        this.#started.push(runnable);
      }
    } catch (error) {
      await this.stop(0);
      throw error;
    }
    void this.#compact();
  }

  /** Stops everything in reverse order; all parts share the budget, in milliseconds. */
  async stop(budgetMs: number): Promise<void> {
    if (this.#state === 'stopped') return;
    this.#state = 'stopped';
    this.#housekeeping.abort();
    const endsAt = this.#clock.monotonic() + budgetMs;
    const left = (): number => Math.max(0, endsAt - this.#clock.monotonic());
    for (const runnable of this.#started.reverse()) {
      await runnable
        .stop(left())
        .catch((error: unknown) =>
          this.#logger.error('stop failed', { part: runnable.name, error: messageOf(error) }),
        );
    }
    this.#started = [];
    await Promise.all(this.#controllers.map((controller) => controller.stop(left())));
    await Promise.all([...this.#informers.values()].map((informer) => informer.close()));
  }

  /** One line per part that can be sick. */
  health(): readonly HealthCheck[] {
    const store = this.#options.store.health();
    const storeCheck = {
      name: 'store',
      healthy: store.state === 'serving',
      message: store.state === 'poisoned' ? store.error.message : store.state,
    };
    const caches = [...this.#informers].map(([name, informer]) => ({
      name: `informer ${name}`,
      healthy: informer.hasSynced(),
      message: informer.hasSynced() ? 'synced' : 'not synced yet',
    }));
    return [storeCheck, ...caches];
  }

  async #compact(): Promise<void> {
    const { signal } = this.#housekeeping;
    const pauseMs = this.#options.compactionIntervalMs ?? 60_000;
    for (;;) {
      await sleep(this.#clock, pauseMs, signal);
      if (signal.aborted) return;
      try {
        await this.#options.store.compact();
      } catch (error) {
        this.#logger.warn('compaction failed, will retry', { error: messageOf(error) });
      }
    }
  }
}
