import {
  backoffDelayMs,
  type BackoffOptions,
  type Clock,
  hasCode,
  linkSignals,
  type Logger,
  messageOf,
  type Random,
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
  ListWatch,
  Stored,
  StoredBatch,
  StoredEvent,
} from '../object/index.js';
import {
  type EventHandler,
  HandlerBuffer,
  type Notification,
  type NotificationHandler,
  objectHandler,
} from './handler-buffer.js';
import { Indexer, type Lister } from './indexer.js';

/** client-go's reflector numbers: 0.8 s doubling to 30 s. */
const defaultBackoff: BackoffOptions = { baseMs: 800, maxMs: 30_000, jitter: 0.5 };

/** Ports of an informer. */
export interface InformerOptions<T extends ApiObject> {
  readonly source: ListWatch<T>;
  /** For log lines. */
  readonly name: string;
  /** The kind's name, for causes; default `name`. */
  readonly kind?: string;
  readonly clock?: Clock;
  readonly random?: Random;
  readonly logger?: Logger;
  readonly backoff?: BackoffOptions;
  /** A stream that says nothing, not even a bookmark, for this long is restarted. Absent: never (in-process source). */
  readonly silenceMs?: number;
}

/** A handler's subscription. */
export interface HandlerRegistration {
  /** True once the handler was told of the whole initial list. */
  hasSynced(): boolean;
  /** Changes the handler has not been told of yet. */
  readonly lag: number;
  remove(): void;
}

/**
 * A cache of one kind that follows its source, and tells handlers of changes.
 *
 * Guarantees: the cache equals the source at some revision and never goes back; with the in-process
 * store a write is in the cache before its promise resolves. Handlers see changes of one object in
 * order, coalesced when they are slow. A relist swaps the cache at once, then tells deletes before
 * updates. Delete and recreate (another uid) is told as a delete and an add. It never stops by itself.
 *
 * Not promised: that every intermediate state is told, or any order between different objects.
 */
export class SharedInformer<T extends ApiObject = ApiObject, I extends string = string> {
  readonly #options: InformerOptions<T>;
  readonly #clock: Clock;
  readonly #random: Random;
  readonly #logger: Logger;
  readonly #indexer = new Indexer<T>();
  readonly #buffers = new Set<HandlerBuffer<T>>();
  readonly #stop = new AbortController();
  #running: Promise<void> | undefined;
  #revision: number | undefined;
  #progressAt = 0;
  readonly #waiters = new Set<{ readonly revision: number; readonly resolve: () => void }>();
  #synced: (() => void) | undefined;
  readonly #whenSynced: Promise<void>;

  constructor(options: InformerOptions<T>) {
    this.#options = options;
    this.#clock = options.clock ?? systemClock;
    this.#random = options.random ?? systemRandom;
    this.#logger = (options.logger ?? silentLogger).child({ informer: options.name });
    this.#whenSynced = new Promise((resolve) => (this.#synced = resolve));
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
    return this.#revision;
  }

  addIndex(name: string, of: IndexFunction<T>): void {
    this.#indexer.addIndex(name, of);
  }

  /** Adds a handler; it is told of everything already in the cache first. */
  addHandler(handler: EventHandler<T>): HandlerRegistration {
    return this.addNotificationHandler(objectHandler(handler));
  }

  /** As {@link addHandler}, without parsing objects that the handler does not look at. */
  addNotificationHandler(handler: NotificationHandler<T>): HandlerRegistration {
    const buffer = new HandlerBuffer(handler, this.#logger, this.#clock);
    this.#buffers.add(buffer);
    let told = false;
    for (const entry of this.#indexer.entries())
      buffer.push(entry.key, { type: 'add', entry, initial: true });
    void this.#whenSynced.then(() => buffer.idle()).then(() => (told = true));
    return {
      hasSynced: () => told,
      get lag() {
        return buffer.lag;
      },
      remove: () => {
        buffer.remove();
        this.#buffers.delete(buffer);
      },
    };
  }

  hasSynced(): boolean {
    return this.#revision !== undefined;
  }

  /**
   * Resolves once the cache is at `revision` or later, or when the signal aborts. At once for the
   * store in process, whose commits are in the cache before their promise resolves.
   */
  async waitForRevision(revision: number, signal: AbortSignal): Promise<void> {
    if ((this.#revision ?? -1) >= revision || signal.aborted) return;
    await new Promise<void>((resolve) => {
      const finish = (): void => {
        signal.removeEventListener('abort', finish);
        this.#waiters.delete(waiter);
        resolve();
      };
      const waiter = { revision, resolve: finish };
      this.#waiters.add(waiter);
      signal.addEventListener('abort', finish, { once: true });
    });
  }

  /** Milliseconds since the cache last moved or was confirmed; undefined before the first list. */
  get progressAgeMs(): number | undefined {
    return this.#revision === undefined ? undefined : this.#clock.monotonic() - this.#progressAt;
  }

  /** The largest lag of a handler. */
  get handlerLag(): number {
    return Math.max(0, ...[...this.#buffers].map((buffer) => buffer.lag));
  }

  /** Resolves after the first list is in the cache and every handler was told of it. */
  async waitForSync(): Promise<void> {
    await this.#whenSynced;
    await Promise.all([...this.#buffers].map((buffer) => buffer.idle()));
  }

  /** Starts following the source. Once. */
  start(): void {
    this.#running ??= this.#follow();
  }

  /** Stops and resolves when nothing runs any more. */
  async close(): Promise<void> {
    this.#stop.abort();
    await this.#running;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  async #follow(): Promise<void> {
    const { signal } = this.#stop;
    let failures = 0;
    while (!signal.aborted) {
      try {
        if (this.#revision === undefined) await this.#relist();
        failures = (await this.#watch()) ? 0 : failures + 1;
      } catch (error) {
        if (signal.aborted) return;
        if (hasCode(error, 'OutOfRange')) {
          // History is gone: list again at once, but never in a hot loop.
          this.#logger.info('informer lists again', { reason: error.message });
          await this.#relist().catch((e: unknown) =>
            this.#logger.warn('informer list failed', { error: messageOf(e) }),
          );
        } else {
          this.#logger.warn('informer source failed', { error: messageOf(error) });
        }
        failures += 1;
      }
      if (failures > 1) {
        const options = this.#options.backoff ?? defaultBackoff;
        await sleep(this.#clock, backoffDelayMs(options, failures - 2, this.#random), signal);
      }
    }
  }

  /** Lists and swaps the cache at once; then tells deletes before everything else. In slices. */
  async #relist(): Promise<void> {
    const { signal } = this.#stop;
    const { items, revision } = await untilAborted(this.#options.source.list(signal), signal);
    const content = await this.#indexer.prepare(items, this.#clock);
    const initial = this.#revision === undefined;
    const before = this.#indexer.swap(content);
    // Handlers that are added from here on are told of the new content when they are.
    const buffers = [...this.#buffers];
    this.#moveTo(revision);
    const slice = new TimeSlice(this.#clock);
    for (const [key, entry] of before) {
      if (!content.entries.has(key))
        this.#notify(key, { type: 'delete', entry, known: false }, buffers);
      if (slice.due()) await slice.pause();
    }
    for (const entry of items) {
      const old = before.get(entry.key);
      if (!old) this.#notify(entry.key, { type: 'add', entry, initial }, buffers);
      else this.#changed(old, entry, false, buffers);
      if (slice.due()) await slice.pause();
    }
    this.#synced?.();
  }

  /** Follows the stream until it ends; true when it brought anything. */
  async #watch(): Promise<boolean> {
    const from = this.#revision ?? 0;
    const stream = new AbortController();
    using link = linkSignals(this.#stop.signal, stream.signal);
    const { signal } = link;
    let heardAt = this.#clock.monotonic();
    const silenceMs = this.#options.silenceMs;
    const guard = (): void => {
      if (signal.aborted || silenceMs === undefined) return;
      if (this.#clock.monotonic() - heardAt >= silenceMs) stream.abort();
      else this.#clock.setTimer(guard, silenceMs / 4, { background: true });
    };
    guard();
    try {
      const sink = (batch: StoredBatch<T>): void => {
        // A source that does not look at the signal may go on after a new stream began.
        if (signal.aborted) return;
        heardAt = this.#clock.monotonic();
        this.#apply(batch);
      };
      await untilAborted(this.#options.source.watch(from, sink, signal), signal).catch(
        (error: unknown) => {
          if (!signal.aborted) throw error;
        },
      );
    } finally {
      stream.abort();
    }
    return this.#revision !== from;
  }

  #apply(batch: StoredBatch<T>): void {
    for (const event of batch.events) this.#applyEvent(event);
    this.#moveTo(batch.revision);
  }

  #applyEvent({ type, entry }: StoredEvent<T>): void {
    if (type === 'delete') {
      if (this.#indexer.delete(entry.key))
        this.#notify(entry.key, { type: 'delete', entry, known: true }, this.#buffers);
      return;
    }
    const before = this.#indexer.set(entry);
    if (before) this.#changed(before, entry, true, this.#buffers);
    else this.#notify(entry.key, { type: 'add', entry, initial: false }, this.#buffers);
  }

  #changed(
    before: Stored<T>,
    entry: Stored<T>,
    known: boolean,
    buffers: Iterable<HandlerBuffer<T>>,
  ): void {
    if (before.resourceVersion === entry.resourceVersion) return;
    const replaced = before.object.metadata.uid !== entry.object.metadata.uid;
    const notification: Notification<T> = replaced
      ? { type: 'replace', before, known, entry }
      : { type: 'update', before, entry };
    this.#notify(entry.key, notification, buffers);
  }

  #notify(key: string, notification: Notification<T>, buffers: Iterable<HandlerBuffer<T>>): void {
    for (const buffer of buffers) buffer.push(key, notification);
  }

  #moveTo(revision: number): void {
    this.#revision = revision;
    this.#progressAt = this.#clock.monotonic();
    for (const waiter of this.#waiters) {
      if (waiter.revision > revision) continue;
      this.#waiters.delete(waiter);
      waiter.resolve();
    }
  }
}
