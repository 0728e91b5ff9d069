import {
  backoffDelayMs,
  type BackoffOptions,
  type Clock,
  hasCode,
  linkSignals,
  type Logger,
  messageOf,
  type Random,
  retryAfterOf,
  sleep,
  TimeSlice,
  untilAborted,
} from '../base/index.js';
import type { ApiObject, Stored, StoredBatch, StoredEvent, ListWatch } from '../object/index.js';
import { type Handlers, type HandlersNow, notify, notifyChange } from './handlers.js';
import type { Indexer } from './indexer.js';
import type { RevisionWaiters } from './revision-waiters.js';
import type { WatchProgress } from './watch-progress.js';

/** The error of a batch that could not be applied to the cache. */
class BatchFault extends Error {}

/** The options of a reflector: its cache, source and timing. */
export interface ReflectorOptions<T extends ApiObject> {
  readonly source: ListWatch<T>;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  readonly backoff: BackoffOptions;
  /** A stream that is silent for this long counts as dead; absent: never. */
  readonly silenceMs: number | undefined;
  readonly indexer: Indexer<T>;
  readonly handlers: Handlers<T>;
  readonly progress: WatchProgress;
  readonly waiters: RevisionWaiters;
  /** Called after each list, once its objects are in the cache and were pushed to the handlers. */
  readonly onListed: () => void;
}

/** Fills a cache from a source by a list and a watch from its revision, and notifies handlers. */
export class Reflector<T extends ApiObject> {
  readonly #options: ReflectorOptions<T>;
  readonly #indexer: Indexer<T>;
  readonly #handlers: Handlers<T>;
  /** True if a list must replace the cache before it is watched. */
  #mustList = true;
  /** The source's cursor of the cache, to resume with. */
  #cursor: string | undefined;

  constructor(options: ReflectorOptions<T>) {
    this.#options = options;
    this.#indexer = options.indexer;
    this.#handlers = options.handlers;
  }

  /** Lists and watches until `signal` aborts. */
  async follow(signal: AbortSignal): Promise<void> {
    const { progress, backoff, random, clock } = this.#options;
    let failures = 0;
    while (!signal.aborted) {
      let askedMs = 0;
      let from: number | undefined;
      try {
        if (this.#mustList) await this.#relist(signal);
        from = progress.revision;
        failures = (await this.#watch(signal)) ? 0 : failures + 1;
        progress.ended();
      } catch (error) {
        if (signal.aborted) return;
        // A broken connection ends a stream with an error. Outages before it say nothing if the stream advanced; without
        // this, the backoff would grow over the life of the process. A second one in a row waits, so no retry is hot.
        const advanced = from !== undefined && progress.revision !== from;
        failures = (advanced ? Math.min(failures, 1) : failures) + 1;
        askedMs = retryAfterOf(error);
        progress.ended(error);
        this.#failed(error);
      }
      // The first failure is retried without backoff, later ones with it. Each waits at least as long as its error
      // requests.
      const backoffMs = failures > 1 ? backoffDelayMs(backoff, failures - 2, random) : 0;
      const delayMs = Math.max(askedMs, backoffMs);
      if (delayMs > 0) await sleep(clock, delayMs, signal);
    }
  }

  #failed(error: unknown): void {
    if (error instanceof BatchFault) {
      this.#mustList = true;
      const { message, cause } = error;
      this.#options.logger.error('informer relists', { reason: message, error: cause });
    } else if (hasCode(error, 'OutOfRange')) {
      this.#mustList = true;
      this.#options.logger.info('informer relists', { reason: error.message });
    } else {
      this.#options.logger.warn('informer source failed', { error: messageOf(error) });
    }
  }

  /** Lists and swaps the cache atomically; then delivers deletes before everything else, in slices. */
  async #relist(signal: AbortSignal): Promise<void> {
    const { source, indexer, progress, waiters, clock } = this.#options;
    const { items, revision, cursor } = await untilAborted(source.list(signal), signal);
    const content = await indexer.prepare(items, clock);
    const initial = progress.revision === undefined;
    const before = indexer.swap(content);
    this.#mustList = false;
    // Handlers that are added from here on get the new content.
    const handlers = [...this.#handlers];
    progress.listed(revision);
    waiters.reached(revision);
    this.#cursor = cursor;
    const slice = new TimeSlice(clock);
    for (const [key, entry] of before) {
      if (!content.entries.has(key)) notify(handlers, key, { type: 'delete', entry, known: false });
      if (slice.due()) await slice.pause();
    }
    for (const entry of items) {
      const old = before.get(entry.key);
      if (!old) notify(handlers, entry.key, { type: 'add', entry, initial }, 'last');
      else this.#relisted(old, entry, handlers);
      if (slice.due()) await slice.pause();
    }
    for (const handler of handlers) handler.listed();
    this.#options.onListed();
  }

  /** Notifies handlers after a relist. An object that can't be compared must not hide the others. */
  #relisted(before: Stored<T>, entry: Stored<T>, handlers: HandlersNow<T>): void {
    try {
      notifyChange(handlers, { before, entry, known: false }, 'last');
    } catch (error) {
      this.#options.logger.error('change could not be delivered', { key: entry.key, error });
    }
  }

  /** Follows the stream until it ends; true if the revision of the cache advanced. */
  async #watch(ending: AbortSignal): Promise<boolean> {
    const { source, progress, clock, silenceMs } = this.#options;
    const from = progress.revision ?? 0;
    const stream = new AbortController();
    using link = linkSignals(ending, stream.signal);
    const { signal } = link;
    let heardAt = clock.monotonic();
    const guard = (): void => {
      if (signal.aborted || silenceMs === undefined) return;
      if (clock.monotonic() - heardAt >= silenceMs) stream.abort();
      else clock.setTimer(guard, silenceMs / 4, { background: true });
    };
    guard();
    let fault: BatchFault | undefined;
    progress.watching();
    try {
      const sink = (batch: StoredBatch<T>): void => {
        // A source that ignores the signal may still deliver after a new stream started.
        if (signal.aborted) return;
        heardAt = clock.monotonic();
        try {
          this.#apply(batch);
        } catch (cause) {
          // Part of the batch may be in the cache: only a relist restores consistency.
          fault = new BatchFault(`a batch could not be applied: ${messageOf(cause)}`, { cause });
          stream.abort();
        }
      };
      await untilAborted(source.watch(from, sink, signal, this.#cursor), signal).catch(
        (error: unknown) => {
          if (!signal.aborted) throw error;
        },
      );
    } finally {
      stream.abort();
    }
    if (fault) throw fault;
    return progress.revision !== from;
  }

  #apply(batch: StoredBatch<T>): void {
    for (const event of batch.events) this.#applyEvent(event);
    this.#options.progress.moved(batch.revision);
    this.#options.waiters.reached(batch.revision);
    this.#cursor = batch.cursor;
  }

  #applyEvent({ type, entry }: StoredEvent<T>): void {
    const { key } = entry;
    if (type === 'delete') {
      const delivered = this.#indexer.delete(key);
      if (delivered) notify(this.#handlers, key, { type: 'delete', entry, known: true, delivered });
      return;
    }
    const before = this.#indexer.set(entry);
    if (before) notifyChange(this.#handlers, { before, entry, known: true });
    else notify(this.#handlers, key, { type: 'add', entry, initial: false });
  }
}
