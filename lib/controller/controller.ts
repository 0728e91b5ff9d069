import {
  type Clock,
  type Logger,
  messageOf,
  noMetrics,
  silentLogger,
  sleep,
  StatusError,
  systemClock,
  systemRandom,
  TimeSlice,
} from '../base/index.js';
import type { HandlerRegistration, SharedInformer } from '../informer/index.js';
import { type ApiObject, keyOf, keyString, type ObjectKey, parseKey } from '../object/index.js';
import { defaultBackoff, ItemBackoff, RateLimitingQueue, slowestOf } from '../workqueue/index.js';
import { CauseRegistry, describeCauses, PendingCauses } from './causes.js';
import type { ReconcileContext } from './context.js';
import type {
  ControllerOptions,
  ControllerStats,
  StoreControllerOptions,
  WatchHandle,
} from './controller-options.js';
import { Durability } from './durability.js';
import { OwnWrites } from './own-writes.js';
import type { Predicate } from './predicates.js';
import { ReconcileMetrics } from './reconcile-metrics.js';
import { type Result, retry } from './result.js';
import { RunContext } from './run-context.js';
import { registerWatch, type Wake } from './watches.js';

const defaultTimeoutMs = 60_000;
/** Time that an aborted reconcile gets to end. */
const abortMs = 1_000;

/** A queue of keys, workers, and the watches that feed it. Build with {@link newController}. */
export class Controller {
  readonly name: string;
  readonly #options: ControllerOptions<ReconcileContext>;
  readonly #clock: Clock;
  readonly #logger: Logger;
  readonly #queue: RateLimitingQueue<string>;
  readonly #backoff: ItemBackoff<string>;
  readonly #metrics: ReconcileMetrics;
  readonly #authors: CauseRegistry;
  readonly #causes = new PendingCauses();
  readonly #ownWrites = new OwnWrites();
  /** Updates seen while a key's run goes on, by key; an entry for every run. */
  readonly #suspects = new Map<string, Wake[]>();
  readonly #durability: Durability | undefined;
  /** What each watch in place listens to; a removed one holds up nobody. */
  readonly #registrations = new Map<HandlerRegistration, SharedInformer>();
  readonly #runs = new Set<RunContext>();
  #workers: Promise<void>[] = [];
  readonly #stats = { reconciles: 0, errors: 0, terminalErrors: 0 };

  constructor(options: ControllerOptions | StoreControllerOptions) {
    this.name = options.name;
    // A reconciler that takes a Request takes a ReconcileContext too.
    this.#options = options;
    this.#clock = options.clock ?? systemClock;
    this.#logger = (options.logger ?? silentLogger).child({ controller: options.name });
    const random = options.random ?? systemRandom;
    this.#backoff = new ItemBackoff<string>(random, options.backoff ?? defaultBackoff);
    const { groupOf, metrics } = options;
    this.#queue = new RateLimitingQueue<string>({
      clock: this.#clock,
      limiter: options.limiter ? slowestOf(this.#backoff, options.limiter) : this.#backoff,
      name: options.name,
      ...(groupOf ? { groupOf: (key) => groupOf(parseKey(key)) } : {}),
      ...(metrics ? { metrics } : {}),
    });
    this.#metrics = new ReconcileMetrics(
      metrics ?? noMetrics,
      options.name,
      options.concurrency ?? 1,
    );
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
      });
  }

  /** The kind this controller reconciles: each of its objects is a request. */
  for<T extends ApiObject>(informer: SharedInformer<T>, predicate?: Predicate<T>): this {
    this.#watch(informer, undefined, predicate);
    return this;
  }

  /** Objects whose owner reference names `ownerKind` wake that owner, found in the object's namespace. */
  owns<T extends ApiObject>(
    informer: SharedInformer<T>,
    ownerKind: string,
    predicate?: Predicate<T>,
  ): this {
    const owners = (object: T): readonly ObjectKey[] =>
      (object.metadata.ownerReferences ?? [])
        .filter((owner) => owner.kind === ownerKind)
        .map((owner) => keyOf({ ...object, name: owner.name }));
    return this.watches(informer, owners, predicate);
  }

  /** Wakes the keys that `map` gives, for the old and the new state of every changed object. */
  watches<T extends ApiObject>(
    informer: SharedInformer<T>,
    map: (object: T) => readonly ObjectKey[],
    predicate?: Predicate<T>,
  ): this {
    this.#watch(informer, map, predicate);
    return this;
  }

  /** As {@link watches}, for a watch that ends before the controller does: also while it runs. */
  addWatch<T extends ApiObject>(
    informer: SharedInformer<T>,
    map: (object: T) => readonly ObjectKey[],
    predicate?: Predicate<T>,
  ): WatchHandle {
    const registration = this.#watch(informer, map, predicate);
    const remove = (): void => {
      registration.remove();
      this.#registrations.delete(registration);
    };
    return { remove, [Symbol.dispose]: remove };
  }

  #watch<T extends ApiObject>(
    informer: SharedInformer<T>,
    map: ((object: T) => readonly ObjectKey[]) | undefined,
    predicate: Predicate<T> | undefined,
  ): HandlerRegistration {
    const registration = registerWatch({
      informer,
      kind: informer.kind,
      ...(map ? { map } : {}),
      predicate,
      authors: this.#authors,
      wake: (wake) => this.#wake(wake),
    });
    this.#registrations.set(registration, informer);
    return registration;
  }

  get #informers(): ReadonlySet<SharedInformer> {
    return new Set(this.#registrations.values());
  }

  #wake(wake: Wake): void {
    const { key, step } = wake;
    if (step && this.#durability) {
      // While the key's run goes on, who wrote this may not be known yet: judged when it ends.
      const suspects = this.#suspects.get(key);
      if (suspects) return void suspects.push(wake);
      if (this.#ownWrites.explain(key, step)) return;
    }
    this.#causes.note(key, wake.cause);
    this.#queue.add(key, wake.priority);
  }

  /** Updates that came while the key's run went on, and were not of its own making, wake it again. */
  #judgeSuspects(key: string): void {
    const suspects = this.#suspects.get(key) ?? [];
    this.#suspects.delete(key);
    for (const suspect of suspects) this.#wake(suspect);
  }

  /** Wakes one key by hand. */
  enqueue(key: ObjectKey, priority = 0): void {
    this.#wake({ key: keyString(key), cause: { type: 'manual' }, priority });
  }

  stats(): ControllerStats {
    const now = this.#clock.monotonic();
    const oldest = Math.min(now, ...[...this.#runs].map((run) => run.startedAt));
    return {
      ...this.#stats,
      active: this.#runs.size,
      queued: this.#queue.len,
      delayed: this.#queue.delayed,
      longestRunMs: now - oldest,
    };
  }

  /** Brings gauges that change with time up to date; a manager with metrics does it each second. */
  refreshMetrics(): void {
    this.#queue.refreshMetrics();
  }

  /** Starts the workers once every cache has synced and its initial list was told. */
  async start(): Promise<void> {
    await Promise.all([...this.#informers].map((informer) => informer.waitForSync()));
    for (const { key, failures, delayMs } of (await this.#durability?.load()) ?? []) {
      this.#backoff.restore(key, failures);
      if (delayMs === undefined) continue;
      this.#causes.note(key, { type: 'restored' });
      this.#queue.addAfter(key, delayMs);
    }
    const count = this.#options.concurrency ?? 1;
    this.#workers = Array.from({ length: count }, () => this.#work());
  }

  /**
   * Takes no more keys, lets what runs go on for `graceMs`, then aborts it. Resolves when the workers
   * ended, at the latest `abortMs` after the abort: a reconcile that ignores its signal is told in
   * the log and left behind.
   */
  async stop(graceMs = 5_000): Promise<void> {
    for (const registration of this.#registrations.keys()) registration.remove();
    this.#registrations.clear();
    this.#queue.shutDown();
    const ended = new AbortController();
    const workers = Promise.all(this.#workers).then(() => ended.abort());
    await Promise.race([workers, sleep(this.#clock, graceMs, ended.signal)]);
    for (const run of this.#runs) run.stop();
    await Promise.race([workers, sleep(this.#clock, abortMs, ended.signal)]);
    if (!ended.signal.aborted)
      this.#logger.warn('reconciles ignored their abort and were left behind', {
        active: this.#runs.size,
      });
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.stop(0);
  }

  async #work(): Promise<void> {
    // Runs that only look at caches never wait for anything: the event loop must get its turn.
    const slice = new TimeSlice(this.#clock, { everyStep: true });
    for (;;) {
      let key = this.#queue.tryGet();
      if (key === undefined) {
        const handout = await this.#queue.get();
        if (handout.shutDown) return;
        ({ key } = handout);
      }
      const priority = this.#queue.priority(key);
      if (this.#durability) this.#suspects.set(key, []);
      const result = await this.#reconcile(key);
      await this.#settle(key, result, priority);
      this.#judgeSuspects(key);
      this.#queue.done(key);
      if (slice.due()) await slice.pause();
    }
  }

  async #reconcile(key: string): Promise<Result> {
    const context = new RunContext({
      key,
      run: this.#authors.nextRun(),
      failures: this.#queue.failures(key),
      causes: this.#causes.take(key),
      timeoutMs: this.#options.timeoutMs ?? defaultTimeoutMs,
      clock: this.#clock,
      logger: this.#logger,
      durability: this.#durability,
    });
    this.#runs.add(context);
    this.#metrics.active(this.#runs.size);
    this.#stats.reconciles += 1;
    let result: Result;
    try {
      if (this.#durability?.mustWait(key))
        await this.#durability.awaitOwnWrites(key, this.#informers, context.signal);
      result = await this.#traced(key, context);
    } catch (error) {
      result = retry(error);
    }
    context.end();
    this.#runs.delete(context);
    this.#metrics.active(this.#runs.size);
    this.#metrics.ended(result, (this.#clock.monotonic() - context.startedAt) / 1_000);
    if (result.type === 'retry' || result.type === 'fail') this.#log(key, result, context);
    return result;
  }

  #traced(key: string, context: RunContext): Promise<Result> {
    const { reconcile, tracer } = this.#options;
    if (!tracer) return reconcile(context);
    const causes = describeCauses(context.causes);
    const attributes = { controller: this.name, key, run: context.run, causes };
    return tracer.trace('reconcile', attributes, async (span) => {
      const ended = await reconcile(context);
      if (ended.type === 'retry') span.recordError(ended.error);
      return ended;
    });
  }

  async #settle(key: string, result: Result, priority: number): Promise<void> {
    switch (result.type) {
      case 'done':
        this.#queue.forget(key);
        break;
      case 'requeueAfter':
        this.#queue.forget(key);
        this.#causes.note(key, { type: 'timer' });
        this.#queue.addAfter(key, result.delayMs, result.priority ?? priority);
        break;
      case 'retry': {
        this.#stats.errors += 1;
        this.#causes.note(key, { type: 'retry' });
        const delayMs = this.#queue.addRateLimited(key, result.error, priority);
        await this.#durability?.remember(key, delayMs, this.#backoff.failures(key));
        return;
      }
      case 'fail':
        this.#stats.terminalErrors += 1;
        break;
    }
    await this.#durability?.settle(key, result);
  }

  /** A conflict is everyday life for optimistic writers: it is retried without a warning. */
  #log(key: string, result: Result & { type: 'retry' | 'fail' }, context: RunContext): void {
    const { run, failures } = context;
    const causes = describeCauses(context.causes);
    if (result.type === 'fail') {
      const { reason, message: error } = result;
      this.#logger.warn('reconcile failed for good', { key, run, reason, error, causes });
      return;
    }
    const everyday = result.error instanceof StatusError && result.error.code === 'Aborted';
    const fields = { key, run, error: messageOf(result.error), failures: failures + 1, causes };
    if (everyday) this.#logger.debug('reconcile again', fields);
    else this.#logger.warn('reconcile failed, will retry', fields);
  }
}

/**
 * A controller; add its watches, then hand it to a manager. With a `store`, its runs can write
 * transactionally and call the outside world once; see {@link ReconcileContext}.
 *
 * @example
 * const controller = newController({ name: 'lamp', reconcile }).for(lamps).owns(bulbs, 'Lamp');
 */
export function newController(options: StoreControllerOptions): Controller;
export function newController(options: ControllerOptions): Controller;
export function newController(options: ControllerOptions | StoreControllerOptions): Controller {
  return new Controller(options);
}
