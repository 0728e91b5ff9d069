import {
  CallbackFaults,
  type Clock,
  guardedLogger,
  guardedMetrics,
  type Logger,
  noMetrics,
  silentLogger,
  systemClock,
  systemRandom,
} from '../base/index.js';
import type { ApiObject, IndexFunction } from '../object/index.js';
import { type EventHandler, type NotificationHandler, objectHandler } from './handler-buffer.js';
import { Handlers } from './handlers.js';
import { Indexer, type IndexFault, type Lister } from './indexer.js';
import {
  defaultBackoff,
  type HandlerOptions,
  type HandlerRegistration,
  informerClosed,
  type InformerOptions,
  requireInformerOptions,
} from './informer-options.js';
import { informerHealth } from './informer-health.js';
import { Reflector } from './reflector.js';
import { RevisionWaiters } from './revision-waiters.js';
import { type InformerHealth, WatchProgress } from './watch-progress.js';

/**
 * A cache of one kind that follows its source and notifies handlers of changes.
 *
 * Guarantees:
 * - The cache equals the source at some revision, and goes back only if its source does. With the store in process a
 *   write is in the cache before its promise resolves.
 * - It never stops by itself: a stream that ends is resumed, compacted history causes a relist, and failures back
 *   off, at least as long as the source asks for (`retryAfterMs`).
 * - A fault affects one object: an index function that throws omits that object from that index; a handler that
 *   throws gets the next change. Both are logged and counted in `callback_faults_total`. A batch that can't be
 *   applied causes a relist.
 * - A handler has synced once it received the objects of the first list, regardless of its speed and of later
 *   changes; no handler waits for another.
 *
 * Ordering: a handler gets the changes of one object in order; a slow handler gets only the newest state. Delete
 * and recreate (another uid) is delivered as a delete and an add. A relist swaps the cache atomically, then
 * delivers deletes before updates.
 *
 * Errors: after `close`, `start` and adding handlers throw FailedPrecondition `InformerClosed`, and pending waits
 * for a sync reject with it.
 *
 * Caveats: not every intermediate state is delivered, and there is no order between different objects. Index
 * functions must be pure and synchronous.
 *
 * @example
 * import { SharedInformer } from 'kedge';
 *
 * await using informer = new SharedInformer({ name: 'lamps', source: store.source(lamps) });
 * informer.addHandler({ onAdd: (lamp) => console.log(lamp.name, 'was added') });
 * informer.start();
 * await informer.waitForSync();
 * console.log(informer.lister.list().length, 'lamps');
 */
export class SharedInformer<T extends ApiObject = ApiObject, I extends string = string> {
  readonly #options: InformerOptions<T>;
  readonly #clock: Clock;
  readonly #logger: Logger;
  readonly #faults: CallbackFaults;
  readonly #indexer: Indexer<T>;
  readonly #handlers: Handlers<T>;
  readonly #stop = new AbortController();
  readonly #progress: WatchProgress;
  readonly #reflector: Reflector<T>;
  #running: Promise<void> | undefined;
  readonly #waiters = new RevisionWaiters();
  #resolveListed: () => void = () => undefined;
  #rejectListed: (error: Error) => void = () => undefined;
  readonly #listed: Promise<void>;

  /** @throws TypeError, RangeError that names an invalid option, such as a backoff. */
  constructor(options: InformerOptions<T>) {
    requireInformerOptions(options);
    this.#options = options;
    this.#clock = options.clock ?? systemClock;
    this.#logger = guardedLogger(options.logger ?? silentLogger).child({ informer: options.name });
    this.#faults = new CallbackFaults({
      part: `informer ${options.name}`,
      logger: this.#logger,
      metrics: guardedMetrics(options.metrics ?? noMetrics, this.#logger),
    });
    this.#indexer = new Indexer(({ index, key, resourceVersion }, error) =>
      this.#faults.report(`index ${index}`, error, { index, key, resourceVersion }),
    );
    this.#handlers = new Handlers({ faults: this.#faults, clock: this.#clock });
    const { source } = options;
    const silenceMs = options.silenceMs ?? source.silenceMs;
    this.#progress = new WatchProgress({
      clock: this.#clock,
      staleAfterMs: options.staleAfterMs ?? 30_000,
      silenceMs,
      sourceRevision: source.currentRevision && (() => source.currentRevision?.() ?? 0),
    });
    this.#listed = new Promise((resolve, reject) => {
      this.#resolveListed = resolve;
      this.#rejectListed = reject;
    });
    // A rejection without a waiter must not be reported as unhandled.
    this.#listed.catch(() => undefined);
    this.#reflector = new Reflector({
      source,
      clock: this.#clock,
      random: options.random ?? systemRandom,
      logger: this.#logger,
      backoff: options.backoff ?? defaultBackoff,
      silenceMs,
      indexer: this.#indexer,
      handlers: this.#handlers,
      progress: this.#progress,
      waiters: this.#waiters,
      onListed: this.#resolveListed,
    });
  }

  /** Name of the cached kind. */
  get kind(): string {
    return this.#options.kind ?? this.#options.name;
  }

  /** The read interface of the cache. */
  get lister(): Lister<T, I> {
    return this.#indexer;
  }

  /** Revision of the cache; undefined before the first list. */
  get revision(): number | undefined {
    return this.#progress.revision;
  }

  /** Objects that are missing in an index now, because its function threw for them. */
  get indexFaults(): readonly IndexFault[] {
    return this.#indexer.faults;
  }

  /** Adds an index, and fills it from the cache. An index of this name is replaced. */
  addIndex(name: string, of: IndexFunction<T>): void {
    this.#indexer.addIndex(name, of);
  }

  /**
   * Adds a handler; it first gets the present content of the cache.
   * @throws StatusError FailedPrecondition after {@link close}.
   */
  addHandler(handler: EventHandler<T>, options: HandlerOptions = {}): HandlerRegistration {
    return this.#add((subscription) => objectHandler(handler, subscription), options);
  }

  /** Like {@link addHandler}, without parsing objects that the handler does not read. */
  addNotificationHandler(
    handler: NotificationHandler<T>,
    options: HandlerOptions = {},
  ): HandlerRegistration {
    return this.#add(() => handler, options);
  }

  #add(handlerOf: Parameters<Handlers<T>['add']>[0], options: HandlerOptions): HandlerRegistration {
    if (this.#stop.signal.aborted) throw informerClosed(this.#options.name);
    return this.#handlers.add(handlerOf, options, this.#indexer.entries(), this.hasSynced());
  }

  /** True once the first list is in the cache. */
  hasSynced(): boolean {
    return this.revision !== undefined;
  }

  /**
   * Resolves once the cache is at `revision` or later, or when the signal aborts. With the store in process it resolves
   * at once after the first list, because commits are in the cache before their promise resolves.
   */
  async waitForRevision(revision: number, signal: AbortSignal): Promise<void> {
    if ((this.revision ?? -1) >= revision || signal.aborted) return;
    await this.#waiters.wait(revision, signal);
  }

  /** Milliseconds since the cache last advanced or was confirmed; undefined before the first list. */
  get progressAgeMs(): number | undefined {
    return this.hasSynced() ? this.#progress.ageMs : undefined;
  }

  /** The largest lag of a handler: the number of keys with changes that it has not received yet. 0 without handlers. */
  get handlerLag(): number {
    return this.#handlers.lag;
  }

  /**
   * The health of the informer. It is unhealthy if it has not synced, if its watch has failed or its cache has lagged
   * behind its source for `staleAfterMs`, or if a handler has not returned for `stuckAfterMs`; the message has the
   * duration. Objects that are missing in an index are in the message, but do not make the informer unhealthy: a
   * restart would not help, and clients can cause them.
   */
  health(): InformerHealth {
    if (this.#stop.signal.aborted) return { healthy: false, message: 'closed' };
    return informerHealth({
      progress: this.#progress,
      handlers: this.#handlers,
      faults: this.indexFaults,
      stuckAfterMs: this.#options.stuckAfterMs ?? 300_000,
    });
  }

  /** A description of what {@link waitForSync} waits for now; empty when it has resolved. */
  get waitingFor(): readonly string[] {
    const { name } = this.#options;
    if (!this.hasSynced()) return [`the list of ${name} (${this.#progress.health().message})`];
    return this.#handlers.unsynced.map((handler) => `handler "${handler}" of ${name}`);
  }

  /**
   * Resolves once the first list is in the cache; it does not wait for handlers.
   * @throws StatusError FailedPrecondition when the informer is closed before.
   */
  waitForCache(): Promise<void> {
    return this.#listed;
  }

  /**
   * Resolves after the first list is in the cache and every handler received it.
   * @throws StatusError FailedPrecondition when the informer is closed before.
   */
  async waitForSync(): Promise<void> {
    await this.#listed;
    await this.#handlers.synced();
  }

  /**
   * Starts to follow the source; further calls are no-ops.
   * @throws StatusError FailedPrecondition after {@link close}.
   */
  start(): void {
    if (this.#stop.signal.aborted) throw informerClosed(this.#options.name);
    this.#progress.started();
    this.#running ??= this.#reflector.follow(this.#stop.signal);
  }

  /** Stops the informer, and resolves when nothing of it runs any more. No handler is called after this call. */
  async close(): Promise<void> {
    this.#stop.abort();
    this.#rejectListed(informerClosed(this.#options.name));
    this.#handlers.close(informerClosed(this.#options.name));
    await this.#running;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }
}
