import {
  CallbackFaults,
  type Clock,
  guardedLogger,
  guardedMetrics,
  guardedTracer,
  type Logger,
  noMetrics,
  silentLogger,
  sleep,
  StatusError,
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
import type { WatchHandle, Wake } from './watches/watches.js';
import { Durability } from './reconcile/durability.js';
import { guardedLimiter } from './guarded-limiter.js';
import { OwnWrites } from './watches/own-writes.js';
import { ownerKeys } from './watches/owner-keys.js';
import type { Predicate } from './watches/predicates.js';
import { ReconcileMetrics } from './reconcile/reconcile-metrics.js';
import { KeyRuns } from './reconcile/key-runs.js';
import { WatchSet } from './watches/watch-set.js';

const defaultTimeoutMs = 60_000;
/** Time that an aborted reconcile gets to end. */
const abortMs = 1_000;
/** Updates kept while one run goes on; with more, the key runs again whoever wrote them. */
const suspectsMax = 64;

/**
 * A queue of keys, workers, and the watches that feed it. Build with {@link newController}.
 *
 * Guarantees:
 * - One worker a key. A change that comes while its key is worked on makes it run again.
 * - No key is lost: whatever a reconciler, predicate, map, limiter, tracer, logger or metric throws,
 *   its worker goes on, and the key is settled or tried again after a wait.
 * - A value that is no {@link Result} counts as `retry` with an error that says what is wrong.
 * - Workers start once every watched cache is synced and this controller's own watches were told of
 *   it. Handlers of others are not waited for.
 *
 * Ordering: that of the work queue; live changes before the objects of the first list.
 *
 * Errors: options out of range throw a RangeError from the constructor. Callbacks that throw are
 * logged, and counted in `callback_faults_total`.
 *
 * Caveats: many changes may be one run, and one change several. A reconcile that ignores its signal
 * keeps its worker; the time limit is counted all the same, and health tells.
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
  /** Updates seen while a key's run goes on, by key; an entry for every run. */
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
    const { name, groupOf } = options;
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
      // A reconciler that takes a Request takes a ReconcileContext too.
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
      onEnd: (key) => this.#judgeSuspects(key),
    });
  }

  /** The kind this controller reconciles: each of its objects is a request. */
  for<T extends ApiObject>(informer: SharedInformer<T>, predicate?: Predicate<T>): this {
    this.#watches.add(informer, undefined, predicate);
    return this;
  }

  /**
   * Objects with an owner reference of the kind `owner` wake that owner: by its name alone when the
   * kind is cluster-scoped, else in the object's namespace.
   * @throws TypeError for an owner that is not a kind.
   */
  owns<T extends ApiObject>(
    informer: SharedInformer<T>,
    owner: AnyKind,
    predicate?: Predicate<T>,
  ): this {
    return this.watches(informer, ownerKeys(owner), predicate);
  }

  /** Wakes the keys that `map` gives, for the old and the new state of every changed object. */
  watches<T extends ApiObject>(
    informer: SharedInformer<T>,
    map: (object: T) => readonly ObjectKey[],
    predicate?: Predicate<T>,
  ): this {
    this.#watches.add(informer, map, predicate);
    return this;
  }

  /** As {@link watches}, for a watch that ends before the controller does: also while it runs. */
  addWatch<T extends ApiObject>(
    informer: SharedInformer<T>,
    map: (object: T) => readonly ObjectKey[],
    predicate?: Predicate<T>,
  ): WatchHandle {
    return this.#watches.add(informer, map, predicate);
  }

  #wake(wake: Wake): void {
    const { key, step } = wake;
    if (step && this.#durability) {
      // While the key's run goes on, who wrote this may not be known yet: judged when it ends.
      const suspects = this.#suspects.get(key);
      if (suspects && suspects.length < suspectsMax) return void suspects.push(wake);
      if (!suspects && this.#ownWrites.explain(key, step)) return;
    }
    this.#queue.add(key, wake.priority);
    this.#causes.note(key, wake.cause);
  }

  /** Updates that came while the key's run went on, and were not of its own making, wake it again. */
  #judgeSuspects(key: string): void {
    const suspects = this.#suspects.get(key) ?? [];
    this.#suspects.delete(key);
    for (const suspect of suspects) this.#wake(suspect);
  }

  /** Wakes one key by hand. @throws RangeError for a priority out of range. */
  enqueue(key: ObjectKey, priority = 0): void {
    this.#wake({ key: keyString(key), cause: { type: 'manual' }, priority });
  }

  stats(): ControllerStats {
    const { len: queued, delayed } = this.#queue;
    return { ...this.#runs.stats(), queued, delayed };
  }

  /** Brings gauges that change with time up to date; a manager with metrics does it each second. */
  refreshMetrics(): void {
    this.#queue.refreshMetrics();
  }

  /** What {@link start} waits for now, in words; empty when every watch has synced. */
  get waitingFor(): readonly string[] {
    return this.#watches.waitingFor;
  }

  /**
   * Starts the workers once every watched cache has synced and this controller was told of its
   * initial list. Once: a second call gives the first one's promise.
   * @throws StatusError FailedPrecondition when the controller is stopped, before or meanwhile, or a
   * watched informer is closed.
   */
  start(): Promise<void> {
    this.#started ??= this.#start();
    return this.#started;
  }

  async #start(): Promise<void> {
    await this.#watches.waitForSync();
    const restored = this.#stopped ? [] : ((await this.#durability?.load()) ?? []);
    if (this.#stopped)
      throw new StatusError({
        code: 'FailedPrecondition',
        reason: 'ControllerStopped',
        message: `controller "${this.name}" was stopped before it had started; make a new one`,
      });
    for (const { key, failures, delayMs } of restored) {
      this.#backoff.restore(key, failures);
      if (delayMs === undefined) continue;
      this.#causes.note(key, { type: 'restored' });
      this.#queue.addAfter(key, delayMs);
    }
    const count = this.#options.concurrency ?? 1;
    this.#workers = Array.from({ length: count }, () => this.#runs.work());
  }

  /**
   * Takes no more keys, lets what runs go on for `graceMs`, then aborts it. Resolves when the workers
   * ended, at the latest `abortMs` after the abort: a reconcile that ignores its signal is told in
   * the log and left behind.
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
      this.#logger.warn('reconciles ignored their abort and were left behind', {
        active: this.#runs.active,
      });
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.stop(0);
  }
}

/**
 * A controller; add its watches, then hand it to a manager. With a `store`, its runs can write
 * transactionally and call the outside world once; see {@link ReconcileContext}.
 *
 * @example
 * const controller = newController({ name: 'lamp', reconcile }).for(lampInformer).owns(bulbInformer, lamps);
 */
export function newController(options: StoreControllerOptions): Controller;
export function newController(options: ControllerOptions): Controller;
export function newController(options: ControllerOptions | StoreControllerOptions): Controller {
  return new Controller(options);
}
