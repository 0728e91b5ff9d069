import {
  CallbackFaults,
  type Clock,
  failedPrecondition,
  guardedLogger,
  guardedMetrics,
  guardedTracer,
  type Logger,
  noMetrics,
  silentLogger,
  sleep,
  systemClock,
  systemRandom,
} from '../base/index.js';
import type { SharedInformer } from '../informer/index.js';
import {
  type AnyKind,
  type ApiObject,
  keyString,
  type ObjectKey,
  parseKey,
} from '../object/index.js';
import { defaultBackoff, ItemBackoff, RateLimitingQueue } from '../workqueue/index.js';
import { CauseRegistry, PendingCauses } from './watches/causes.js';
import {
  type ControllerOptions,
  requireControllerOptions,
  type StoreControllerOptions,
} from './controller-options.js';
import type { ControllerStats } from './reconcile/controller-stats.js';
import type { WatchHandle, WatchMap, Wake } from './watches/watches.js';
import { Durability } from './reconcile/durability.js';
import { guardedLimiter } from './guarded-limiter.js';
import { OwnWrites } from './watches/own-writes.js';
import { ownerKeys } from './watches/owner-keys.js';
import type { Predicate } from './watches/predicates.js';
import { ReconcileMetrics } from './reconcile/reconcile-metrics.js';
import { KeyRuns } from './reconcile/key-runs.js';
import { WatchSet } from './watches/watch-set.js';

const defaultTimeoutMs = 60_000;
/** Time for an aborted reconcile to end, in milliseconds. */
const abortMs = 1_000;
/** Updates that are kept during a run. With more, the key runs again regardless of their authors. */
const suspectsMax = 64;

/**
 * A queue of keys, workers, and the watches that feed it. Create it with `newController`.
 *
 * Guarantees:
 * - One worker per key. A change during the processing of its key makes the key run again; for its own writes see `txn`.
 * - No key is lost: if a reconciler, predicate, map, limiter, tracer, logger or metric throws, its worker continues,
 *   and the key is settled or retried after a delay.
 * - A value that is not a {@link Result} counts as `retry` with an error that names the problem.
 * - Workers start once every watched cache is synced and this controller's own watches received it. Other handlers are
 *   not awaited.
 *
 * Ordering: as in the work queue; live changes come before the objects of the first list.
 *
 * Errors: invalid options throw a TypeError or RangeError from the constructor. Callbacks that throw are logged, and
 * counted in `callback_faults_total`.
 *
 * Caveats: many changes may cause one run, and one change several. A reconcile that ignores its signal keeps its
 * worker; the timeout is counted anyway, and health reports it.
 *
 * @example
 * import { done, newController } from 'kedge';
 *
 * const controller = newController({
 *   name: 'lamp',
 *   store,
 *   reconcile: (context) =>
 *     context.txn(async (txn) => {
 *       const lamp = await txn.get(lamps, context.key);
 *       if (lamp?.on) txn.updateStatus(lamps, context.key, { lit: true });
 *       return done();
 *     }),
 * });
 * manager.addController(controller.for(manager.informer(lamps)));
 */
export class Controller {
  readonly name: string;
  readonly #options: ControllerOptions<never>;
  readonly #clock: Clock;
  readonly #logger: Logger;
  readonly #queue: RateLimitingQueue<string>;
  readonly #backoff: ItemBackoff<string>;
  readonly #authors: CauseRegistry;
  readonly #causes = new PendingCauses();
  readonly #ownWrites = new OwnWrites();
  /** Updates during a key's run, by key; every running key has an entry. */
  readonly #suspects = new Map<string, Wake[]>();
  readonly #durability: Durability | undefined;
  readonly #faults: CallbackFaults;
  readonly #watches: WatchSet;
  readonly #runs: KeyRuns;
  #workers: Promise<void>[] = [];
  #started: Promise<void> | undefined;
  #stopped = false;

  constructor(options: ControllerOptions | StoreControllerOptions) {
    requireControllerOptions(options);
    const { name, groupOf, groupConcurrency } = options;
    this.name = name;
    this.#options = options;
    this.#clock = options.clock ?? systemClock;
    this.#logger = guardedLogger(options.logger ?? silentLogger).child({ controller: name });
    const metrics = guardedMetrics(options.metrics ?? noMetrics, this.#logger);
    this.#faults = new CallbackFaults({
      part: `controller ${name}`,
      logger: this.#logger,
      metrics,
    });
    this.#watches = new WatchSet({
      name: `controller ${name}`,
      faults: this.#faults,
      wake: (wake) => this.#wake(wake),
    });
    const random = options.random ?? systemRandom;
    this.#backoff = new ItemBackoff<string>(random, options.backoff ?? defaultBackoff);
    this.#queue = new RateLimitingQueue<string>({
      clock: this.#clock,
      limiter: guardedLimiter(this.#backoff, options.limiter, this.#faults),
      name,
      ...(groupOf ? { groupOf: (key) => groupOf(parseKey(key)) } : {}),
      ...(groupConcurrency === undefined ? {} : { groupConcurrency }),
      onGroupFault: (error, key) => this.#faults.report('groupOf', error, { key }),
      ...(options.metrics ? { metrics } : {}),
    });
    this.#authors = options.causes ?? new CauseRegistry();
    if ('store' in options)
      this.#durability = new Durability({
        store: options.store,
        controller: options.name,
        clock: this.#clock,
        random,
        logger: this.#logger,
        ownWrites: this.#ownWrites,
        authors: this.#authors,
        conditionsOf: options.conditionsOf,
        timers: options.timers ?? 'store',
      });
    this.#runs = new KeyRuns({
      name,
      // A reconciler of a Request accepts a ReconcileContext too.
      reconcile: options.reconcile,
      timeoutMs: options.timeoutMs ?? defaultTimeoutMs,
      clock: this.#clock,
      logger: this.#logger,
      metrics: new ReconcileMetrics(metrics, name, options.concurrency ?? 1),
      tracer: options.tracer && guardedTracer(options.tracer, this.#logger),
      queue: this.#queue,
      backoff: this.#backoff,
      authors: this.#authors,
      causes: this.#causes,
      durability: this.#durability,
      informers: () => this.#watches.informers,
      onBegin: (key) => {
        if (this.#durability) this.#suspects.set(key, []);
      },
      onEnd: (key) => this.#requeueForeign(key),
    });
  }

  /** Watches the kind that this controller reconciles: each object queues its own key. */
  for<T extends ApiObject>(informer: SharedInformer<T>, predicate?: Predicate<T>): this {
    this.#watches.add(informer, undefined, predicate);
    return this;
  }

  /**
   * Watches dependents: an object with an owner reference of the kind `owner` queues the key of
   * that owner. A cluster-scoped owner is in no namespace; any other is in the object's namespace.
   * @throws TypeError for an owner that is not a kind.
   */
  owns<T extends ApiObject>(
    informer: SharedInformer<T>,
    owner: AnyKind,
    predicate?: Predicate<T>,
  ): this {
    return this.watches(informer, ownerKeys(owner), predicate);
  }

  /**
   * Watches a kind whose objects queue the keys that `map` returns, for the old and the new state
   * of each change. For an update `map` also gets the other state.
   */
  watches<T extends ApiObject>(
    informer: SharedInformer<T>,
    map: WatchMap<T>,
    predicate?: Predicate<T>,
  ): this {
    this.#watches.add(informer, map, predicate);
    return this;
  }

  /** Like {@link watches}, for a watch that can be removed while the controller runs. */
  addWatch<T extends ApiObject>(
    informer: SharedInformer<T>,
    map: WatchMap<T>,
    predicate?: Predicate<T>,
  ): WatchHandle {
    return this.#watches.add(informer, map, predicate);
  }

  #wake(wake: Wake): void {
    const { key, step } = wake;
    if (step && this.#durability) {
      // The author of this change may not be known yet: it is checked when the run ends.
      const suspects = this.#suspects.get(key);
      if (suspects && suspects.length < suspectsMax) return void suspects.push(wake);
      if (!suspects && this.#ownWrites.explain(key, step)) return;
    }
    this.#queue.add(key, wake.priority);
    this.#causes.note(key, wake.cause);
  }

  /** Requeues the key if another writer made an update during its run. */
  #requeueForeign(key: string): void {
    const suspects = this.#suspects.get(key) ?? [];
    this.#suspects.delete(key);
    for (const suspect of suspects) this.#wake(suspect);
  }

  /**
   * Queues one key.
   * @throws RangeError for a priority out of range.
   */
  enqueue(key: ObjectKey, priority = 0): void {
    this.#wake({ key: keyString(key), cause: { type: 'manual' }, priority });
  }

  stats(): ControllerStats {
    const { len: queued, delayed } = this.#queue;
    return { ...this.#runs.stats(), queued, delayed };
  }

  /** Updates gauges that change with time; a manager with metrics calls it every second. */
  refreshMetrics(): void {
    this.#queue.refreshMetrics();
  }

  /** A description of what {@link start} waits for now; empty when every watch has synced. */
  get waitingFor(): readonly string[] {
    return this.#watches.waitingFor;
  }

  /**
   * Starts the workers once every watched cache has synced, this controller has received the initial list of each, and
   * its stored retries and requeues were read. A second call returns the promise of the first.
   * @throws StatusError FailedPrecondition if the controller was stopped before or during the start, or a watched
   * informer is closed; errors of the store, when the stored retries are read
   */
  start(): Promise<void> {
    this.#started ??= this.#start();
    return this.#started;
  }

  async #start(): Promise<void> {
    await this.#watches.waitForSync();
    const restored = this.#stopped ? [] : ((await this.#durability?.load()) ?? []);
    if (this.#stopped)
      throw failedPrecondition(
        'ControllerStopped',
        `controller "${this.name}" was stopped before it had started; create a new one`,
      );
    for (const { key, failures, delayMs } of restored) {
      this.#backoff.restore(key, failures);
      if (delayMs === undefined) continue;
      this.#causes.note(key, { type: 'restored' });
      this.#queue.addAfter(key, delayMs);
    }
    this.#queue.regroup();
    this.#workers = Array.from({ length: this.#options.concurrency ?? 1 }, () => this.#runs.work());
  }

  /**
   * Takes no more keys, lets runs continue for `graceMs` (default 5 s), then aborts them. Resolves when the
   * workers ended, at the latest one second after the abort: a reconcile that ignores its signal is
   * logged and abandoned.
   */
  async stop(graceMs = 5_000): Promise<void> {
    this.#stopped = true;
    this.#watches.clear();
    this.#queue.shutDown();
    const ended = new AbortController();
    const workers = Promise.all(this.#workers).then(() => ended.abort());
    await Promise.race([workers, sleep(this.#clock, graceMs, ended.signal)]);
    this.#runs.stop();
    await Promise.race([workers, sleep(this.#clock, abortMs, ended.signal)]);
    if (!ended.signal.aborted)
      this.#logger.warn('reconciles ignored their abort and were abandoned', {
        active: this.#runs.active,
      });
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.stop(0);
  }
}
