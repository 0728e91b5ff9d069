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
} from '../base/index.js';
import {
  type ApiObject,
  keyOf,
  keyString,
  type ListWatch,
  type WatchBatch,
  type WatchEvent,
} from '../object/index.js';
import { type EventHandler, HandlerBuffer, type Notification } from './handler-buffer.js';
import { Indexer, type IndexFunction, type Lister } from './indexer.js';

/** client-go's reflector numbers: 0.8 s doubling to 30 s. */
const defaultBackoff: BackoffOptions = { baseMs: 800, maxMs: 30_000, jitter: 0.5 };

/** Ports of an informer. */
export interface InformerOptions<T extends ApiObject> {
  readonly source: ListWatch<T>;
  /** For log lines. */
  readonly name: string;
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
export class SharedInformer<T extends ApiObject> {
  readonly #options: InformerOptions<T>;
  readonly #clock: Clock;
  readonly #random: Random;
  readonly #logger: Logger;
  readonly #indexer = new Indexer<T>();
  readonly #buffers = new Set<HandlerBuffer<T>>();
  readonly #stop = new AbortController();
  #running: Promise<void> | undefined;
  #revision: number | undefined;
  #synced: (() => void) | undefined;
  readonly #whenSynced: Promise<void>;

  constructor(options: InformerOptions<T>) {
    this.#options = options;
    this.#clock = options.clock ?? systemClock;
    this.#random = options.random ?? systemRandom;
    this.#logger = (options.logger ?? silentLogger).child({ informer: options.name });
    this.#whenSynced = new Promise((resolve) => (this.#synced = resolve));
  }

  /** The cache. */
  get lister(): Lister<T> {
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
    const buffer = new HandlerBuffer(handler, this.#logger);
    this.#buffers.add(buffer);
    let told = false;
    for (const object of this.#indexer.list())
      buffer.push(keyString(keyOf(object)), { type: 'add', object, initial: true });
    void this.#whenSynced.then(() => buffer.idle()).then(() => (told = true));
    return {
      hasSynced: () => told,
      remove: () => {
        buffer.remove();
        this.#buffers.delete(buffer);
      },
    };
  }

  hasSynced(): boolean {
    return this.#revision !== undefined;
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

  async #relist(): Promise<void> {
    const { items, revision } = await this.#options.source.list(this.#stop.signal);
    const initial = this.#revision === undefined;
    const before = this.#indexer.replace(items);
    this.#revision = revision;
    for (const [key, object] of before) {
      if (!this.#indexer.get(key))
        this.#notify(key, { type: 'delete', tombstone: { known: false, object } });
    }
    for (const object of items) {
      const key = keyString(keyOf(object));
      const old = before.get(key);
      if (!old) this.#notify(key, { type: 'add', object, initial });
      else this.#changed(key, old, object, false);
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
      else this.#clock.setTimer(guard, silenceMs / 4);
    };
    guard();
    try {
      await this.#options.source.watch(
        from,
        (batch) => {
          heardAt = this.#clock.monotonic();
          this.#apply(batch);
        },
        signal,
      );
    } finally {
      stream.abort();
    }
    return this.#revision !== from;
  }

  #apply(batch: WatchBatch<T>): void {
    for (const event of batch.events) this.#applyEvent(event);
    this.#revision = batch.revision;
  }

  #applyEvent(event: WatchEvent<T>): void {
    const { object } = event;
    const key = keyString(keyOf(object));
    if (event.type === 'DELETED') {
      if (this.#indexer.delete(key))
        this.#notify(key, { type: 'delete', tombstone: { known: true, object } });
      return;
    }
    const before = this.#indexer.set(object);
    if (before) this.#changed(key, before, object, true);
    else this.#notify(key, { type: 'add', object, initial: false });
  }

  #changed(key: string, before: T, object: T, known: boolean): void {
    if (before.metadata.uid !== object.metadata.uid)
      this.#notify(key, { type: 'replace', tombstone: { known, object: before }, object });
    else if (before.metadata.resourceVersion !== object.metadata.resourceVersion)
      this.#notify(key, { type: 'update', before, object });
  }

  #notify(key: string, notification: Notification<T>): void {
    for (const buffer of this.#buffers) buffer.push(key, notification);
  }
}
