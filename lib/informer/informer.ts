import {
  backoffDelayMs,
  type BackoffOptions,
  CallbackFaults,
  type Clock,
  guardedLogger,
  guardedMetrics,
  hasCode,
  linkSignals,
  type Logger,
  messageOf,
  noMetrics,
  type Random,
  retryAfterOf,
  silentLogger,
  sleep,
  systemClock,
  systemRandom,
  TimeSlice,
  untilAborted,
} from '../base/index.js';
import type {
  ApiObject,
  IndexFunction,
  Stored,
  StoredBatch,
  StoredEvent,
} from '../object/index.js';
import { type EventHandler, type NotificationHandler, objectHandler } from './handler-buffer.js';
import { Handlers, type HandlersNow, tell, tellChange } from './handlers.js';
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
import { RevisionWaiters } from './revision-waiters.js';
import { type InformerHealth, WatchProgress } from './watch-progress.js';

/** A batch of the source could not be taken into the cache. */
class BatchFault extends Error {}

/**
 * A cache of one kind that follows its source, and tells handlers of changes.
 *
 * Guarantees:
 * - The cache equals the source at some revision and never goes back. With the store in process a
 *   write is in the cache before its promise resolves.
 * - It never stops by itself: a stream that ends is resumed, history that is gone is listed again,
 *   and failures back off, at least as long as the source asks for (`retryAfterMs`).
 * - A fault harms one object: an index function that throws leaves that object out of that index; a
 *   handler that throws is told of the next change. Both are logged and counted in
 *   `callback_faults_total`. A batch that can't be taken makes it list again.
 * - A handler has synced once it was told of the objects of the first list, however slow it is and
 *   however much changes meanwhile; no handler waits for another.
 *
 * Ordering: a handler sees the changes of one object in order, the newest state only when it is slow.
 * Delete and recreate (another uid) is told as a delete and an add. A relist swaps the cache at once,
 * then tells deletes before updates.
 *
 * Errors: after `close`, `start` and adding handlers throw FailedPrecondition `InformerClosed`, and
 * who waits for a sync that did not happen is rejected with it.
 *
 * Caveats: not every intermediate state is told, and there is no order between different objects.
 * Index functions must be pure and synchronous.
 */
export class SharedInformer<T extends ApiObject = ApiObject, I extends string = string> {
  readonly #options: InformerOptions<T>;
  readonly #clock: Clock;
  readonly #random: Random;
  readonly #backoff: BackoffOptions;
  readonly #silenceMs: number | undefined;
  readonly #logger: Logger;
  readonly #faults: CallbackFaults;
  readonly #indexer: Indexer<T>;
  readonly #handlers: Handlers<T>;
  readonly #stop = new AbortController();
  readonly #progress: WatchProgress;
  #running: Promise<void> | undefined;
  /** The cache must be replaced by a list before it is watched (again). */
  #mustList = true;
  /** The position of the cache as the source told it: handed back to resume. */
  #cursor: string | undefined;
  readonly #waiters = new RevisionWaiters();
  #resolveListed: () => void = () => undefined;
  #rejectListed: (error: Error) => void = () => undefined;
  readonly #listed: Promise<void>;

  /** @throws TypeError, RangeError naming an option that can't be one, such as a backoff that is none. */
  constructor(options: InformerOptions<T>) {
    requireInformerOptions(options);
    this.#options = options;
    this.#clock = options.clock ?? systemClock;
    this.#random = options.random ?? systemRandom;
    this.#backoff = options.backoff ?? defaultBackoff;
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
    this.#silenceMs = options.silenceMs ?? source.silenceMs;
    this.#progress = new WatchProgress({
      clock: this.#clock,
      staleAfterMs: options.staleAfterMs ?? 30_000,
      silenceMs: this.#silenceMs,
      sourceRevision: source.currentRevision && (() => source.currentRevision?.() ?? 0),
    });
    this.#listed = new Promise((resolve, reject) => {
      this.#resolveListed = resolve;
      this.#rejectListed = reject;
    });
    // Nobody need wait for it.
    this.#listed.catch(() => undefined);
  }

  /** The kind it caches. */
  get kind(): string {
    return this.#options.kind ?? this.#options.name;
  }

  /** The cache. */
  get lister(): Lister<T, I> {
    return this.#indexer;
  }

  /** Revision the cache is at; undefined before the first list. */
  get revision(): number | undefined {
    return this.#progress.revision;
  }

  /** Objects that an index leaves out now, because its function threw for them. */
  get indexFaults(): readonly IndexFault[] {
    return this.#indexer.faults;
  }

  addIndex(name: string, of: IndexFunction<T>): void {
    this.#indexer.addIndex(name, of);
  }

  /**
   * Adds a handler; it is told of everything already in the cache first.
   * @throws StatusError FailedPrecondition after {@link close}.
   */
  addHandler(handler: EventHandler<T>, options: HandlerOptions = {}): HandlerRegistration {
    return this.#add((subscription) => objectHandler(handler, subscription), options);
  }

  /** As {@link addHandler}, without parsing objects that the handler does not look at. */
  addNotificationHandler(
    handler: NotificationHandler<T>,
    options: HandlerOptions = {},
  ): HandlerRegistration {
    return this.#add(() => handler, options);
  }

  #add(tellOf: Parameters<Handlers<T>['add']>[0], options: HandlerOptions): HandlerRegistration {
    if (this.#stop.signal.aborted) throw informerClosed(this.#options.name);
    return this.#handlers.add(tellOf, options, this.#indexer.entries(), this.hasSynced());
  }

  /** True once the first list is in the cache. */
  hasSynced(): boolean {
    return this.revision !== undefined;
  }

  /**
   * Resolves once the cache is at `revision` or later, or when the signal aborts. At once for the
   * store in process, whose commits are in the cache before their promise resolves.
   */
  async waitForRevision(revision: number, signal: AbortSignal): Promise<void> {
    if ((this.revision ?? -1) >= revision || signal.aborted) return;
    await this.#waiters.wait(revision, signal);
  }

  /** Milliseconds since the cache last moved or was confirmed; undefined before the first list. */
  get progressAgeMs(): number | undefined {
    return this.hasSynced() ? this.#progress.ageMs : undefined;
  }

  /** The largest lag of a handler. */
  get handlerLag(): number {
    return this.#handlers.lag;
  }

  /**
   * Unhealthy: not synced, a watch that has failed for `staleAfterMs`, a cache that its source has
   * left behind for as long, a handler that has not come back for `stuckAfterMs`; the message says
   * how long. Objects that an index leaves out are in the message too, but do not make it unhealthy:
   * a restart would not mend them, and a client can cause them.
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

  /** What {@link waitForSync} waits for now, in words; empty when it has resolved. */
  get waitingFor(): readonly string[] {
    const { name } = this.#options;
    if (!this.hasSynced()) return [`the list of ${name} (${this.#progress.health().message})`];
    return this.#handlers.unsynced.map((handler) => `handler "${handler}" of ${name}`);
  }

  /**
   * Resolves once the first list is in the cache; no handler is waited for.
   * @throws StatusError FailedPrecondition when the informer is closed before.
   */
  waitForCache(): Promise<void> {
    return this.#listed;
  }

  /**
   * Resolves after the first list is in the cache and every handler was told of it.
   * @throws StatusError FailedPrecondition when the informer is closed before.
   */
  async waitForSync(): Promise<void> {
    await this.#listed;
    await this.#handlers.synced();
  }

  /**
   * Starts following the source. Once.
   * @throws StatusError FailedPrecondition after {@link close}.
   */
  start(): void {
    if (this.#stop.signal.aborted) throw informerClosed(this.#options.name);
    this.#progress.started();
    this.#running ??= this.#follow();
  }

  /** Stops and resolves when nothing runs any more. Handlers are told of nothing from here on. */
  async close(): Promise<void> {
    this.#stop.abort();
    this.#rejectListed(informerClosed(this.#options.name));
    this.#handlers.close(informerClosed(this.#options.name));
    await this.#running;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  async #follow(): Promise<void> {
    const { signal } = this.#stop;
    let failures = 0;
    while (!signal.aborted) {
      let askedMs = 0;
      try {
        if (this.#mustList) await this.#relist();
        failures = (await this.#watch()) ? 0 : failures + 1;
        this.#progress.ended();
      } catch (error) {
        if (signal.aborted) return;
        failures += 1;
        askedMs = retryAfterOf(error);
        this.#progress.ended(error);
        this.#failed(error);
      }
      // The first failure is answered at once; from then on never in a hot loop.
      const backoffMs =
        failures > 1 ? backoffDelayMs(this.#backoff, failures - 2, this.#random) : 0;
      const delayMs = Math.max(askedMs, backoffMs);
      if (delayMs > 0) await sleep(this.#clock, delayMs, signal);
    }
  }

  #failed(error: unknown): void {
    if (error instanceof BatchFault) {
      this.#mustList = true;
      const { message, cause } = error;
      this.#logger.error('informer lists again', { reason: message, error: cause });
    } else if (hasCode(error, 'OutOfRange')) {
      this.#mustList = true;
      this.#logger.info('informer lists again', { reason: error.message });
    } else {
      this.#logger.warn('informer source failed', { error: messageOf(error) });
    }
  }

  /** Lists and swaps the cache at once; then tells deletes before everything else. In slices. */
  async #relist(): Promise<void> {
    const { signal } = this.#stop;
    const { items, revision, cursor } = await untilAborted(
      this.#options.source.list(signal),
      signal,
    );
    const content = await this.#indexer.prepare(items, this.#clock);
    const initial = this.revision === undefined;
    const before = this.#indexer.swap(content);
    this.#mustList = false;
    // Handlers that are added from here on are told of the new content when they are.
    const handlers = [...this.#handlers];
    this.#progress.listed(revision);
    this.#waiters.reached(revision);
    this.#cursor = cursor;
    const slice = new TimeSlice(this.#clock);
    for (const [key, entry] of before) {
      if (!content.entries.has(key)) tell(handlers, key, { type: 'delete', entry, known: false });
      if (slice.due()) await slice.pause();
    }
    for (const entry of items) {
      const old = before.get(entry.key);
      if (!old) tell(handlers, entry.key, { type: 'add', entry, initial }, 'last');
      else this.#relisted(old, entry, handlers);
      if (slice.due()) await slice.pause();
    }
    for (const handler of handlers) handler.listed();
    this.#resolveListed();
  }

  /** The cache has the new content already: what can't be compared must not hide the rest of it. */
  #relisted(before: Stored<T>, entry: Stored<T>, handlers: HandlersNow<T>): void {
    try {
      tellChange(handlers, { before, entry, known: false }, 'last');
    } catch (error) {
      this.#logger.error('change could not be told', { key: entry.key, error });
    }
  }

  /** Follows the stream until it ends; true when it brought anything. */
  async #watch(): Promise<boolean> {
    const from = this.revision ?? 0;
    const stream = new AbortController();
    using link = linkSignals(this.#stop.signal, stream.signal);
    const { signal } = link;
    let heardAt = this.#clock.monotonic();
    const silenceMs = this.#silenceMs;
    const guard = (): void => {
      if (signal.aborted || silenceMs === undefined) return;
      if (this.#clock.monotonic() - heardAt >= silenceMs) stream.abort();
      else this.#clock.setTimer(guard, silenceMs / 4, { background: true });
    };
    guard();
    let fault: BatchFault | undefined;
    this.#progress.watching();
    try {
      const sink = (batch: StoredBatch<T>): void => {
        // A source that does not look at the signal may go on after a new stream began.
        if (signal.aborted) return;
        heardAt = this.#clock.monotonic();
        try {
          this.#apply(batch);
        } catch (cause) {
          // Part of the batch may be in the cache: only a list tells what it should be.
          fault = new BatchFault(`a batch could not be taken: ${messageOf(cause)}`, { cause });
          stream.abort();
        }
      };
      await untilAborted(
        this.#options.source.watch(from, sink, signal, this.#cursor),
        signal,
      ).catch((error: unknown) => {
        if (!signal.aborted) throw error;
      });
    } finally {
      stream.abort();
    }
    if (fault) throw fault;
    return this.revision !== from;
  }

  #apply(batch: StoredBatch<T>): void {
    for (const event of batch.events) this.#applyEvent(event);
    this.#progress.moved(batch.revision);
    this.#waiters.reached(batch.revision);
    this.#cursor = batch.cursor;
  }

  #applyEvent({ type, entry }: StoredEvent<T>): void {
    const { key } = entry;
    if (type === 'delete') {
      const told = this.#indexer.delete(key);
      if (told) tell(this.#handlers, key, { type: 'delete', entry, known: true, told });
      return;
    }
    const before = this.#indexer.set(entry);
    if (before) tellChange(this.#handlers, { before, entry, known: true });
    else tell(this.#handlers, key, { type: 'add', entry, initial: false });
  }
}
