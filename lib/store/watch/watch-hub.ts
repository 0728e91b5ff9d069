import {
  type Clock,
  holdProcess,
  limits,
  type Logger,
  StatusError,
  TimeSlice,
} from '../../base/index.js';
import {
  type ApiObject,
  requireRevision,
  type StoredBatch,
  type StoredEvent,
  type WatchBatch,
  type WatchEvent,
} from '../../object/index.js';
import type { Engine } from '../engine/engine.js';
import { LazyObject } from '../record/lazy-object.js';
import { decodeRecord } from '../record/record-codec.js';
import { type Change, Selection, type SelectionOptions } from '../index/selection.js';
import { readChanges, logHole } from './log-reads.js';
import { scopeKey, SharedBatches } from './shared-batches.js';
import { type Published, WatchRing } from './watch-ring.js';
import { WatchWakes } from './watch-wakes.js';

interface Subscriber {
  readonly deliver: (batch: readonly Published[]) => void;
  /** Ends the subscription, because the sink missed an event. */
  readonly fail: (error: unknown) => void;
}

/** A watch after its start. */
export interface HubWatch extends SelectionOptions {
  readonly fromRevision: number;
  readonly signal: AbortSignal;
  readonly bookmarkMs?: number;
  readonly withPrevious?: boolean;
}

/** Dependencies of a hub. */
export interface WatchHubOptions {
  readonly engine: Pick<Engine, 'scan' | 'get'>;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Last published revision. */
  readonly revision: number;
  readonly compacted: number;
}

/**
 * Delivers to each watcher the events of its kind and selection after its cursor, in order and once.
 *
 * A watcher has a cursor and no queue: recent events are in a shared ring, older ones are read from the log, and a
 * compacted cursor is OutOfRange. A slow watcher therefore keeps one batch, and delays no other.
 */
export class WatchHub {
  readonly #options: WatchHubOptions;
  readonly #clock: Clock;
  readonly #ring: WatchRing;
  #revision: number;
  #compacted: number;
  readonly #subscribers = new Set<Subscriber>();
  readonly #wakes: WatchWakes;
  readonly #shared = new SharedBatches();

  constructor(options: WatchHubOptions) {
    this.#options = options;
    this.#clock = options.clock;
    this.#wakes = new WatchWakes(options.clock, options.revision);
    this.#revision = options.revision;
    this.#ring = new WatchRing(options.revision);
    this.#compacted = options.compacted;
  }

  get revision(): number {
    return this.#revision;
  }

  /** Number of waiting watchers and subscribed informers, for leak tests and metrics. */
  get listeners(): number {
    return this.#subscribers.size + this.#wakes.size;
  }

  /**
   * Called with durable revisions, in order. Subscribers run before it returns. A subscriber that throws misses
   * events, so its subscription ends; the commit and the other subscribers are not affected.
   */
  publish(batch: readonly Published[]): void {
    const last = batch.at(-1);
    if (!last) return;
    for (const published of batch) this.#ring.push(published);
    this.#revision = last.revision;
    for (const subscriber of this.#subscribers) {
      try {
        subscriber.deliver(batch);
      } catch (error) {
        this.#subscribers.delete(subscriber);
        this.#options.logger.error('the sink of a watch threw; its subscription ends', { error });
        subscriber.fail(error);
      }
    }
    this.#wakes.published(batch);
  }

  setCompacted(revision: number): void {
    this.#compacted = revision;
  }

  /** Wakes every watcher, so that it notices that its signal aborted. Called at close. */
  wakeAll(): void {
    this.#wakes.all();
  }

  #check(fromRevision: number): void {
    requireRevision(fromRevision);
    if (fromRevision < this.#compacted)
      throw new StatusError({
        code: 'OutOfRange',
        reason: 'Compacted',
        message: `revision ${fromRevision} is compacted, history starts at ${this.#compacted}; list again and watch from the list's revision`,
      });
    if (fromRevision > this.#revision)
      throw new StatusError({
        code: 'OutOfRange',
        reason: 'Ahead',
        message: `revision ${fromRevision} is newer than the store, which is at ${this.#revision}; list again and watch from the list's revision`,
      });
  }

  /**
   * The next published revisions after `revision`: from the ring, else from the log.
   * @throws StatusError OutOfRange (Compacted), DataLoss (LogHole)
   */
  async #after(revision: number): Promise<readonly Published[]> {
    if (revision >= this.#ring.start)
      return this.#ring.after(revision, limits.watchBatchEvents, limits.watchBatchBytes);
    const found = await readChanges(this.#options.engine, revision, () => this.#revision);
    // Compaction may have passed the cursor during the read of the log: then the read may have holes.
    this.#check(revision);
    const hole = found.findIndex((published, at) => published.revision !== revision + 1 + at);
    if (hole >= 0 || found.length === 0) throw logHole(revision + 1 + Math.max(0, hole));
    return found;
  }

  /**
   * Yields batches for one kind until the signal aborts.
   * @throws StatusError OutOfRange, InvalidArgument for the start; DataLoss for a hole in the log
   */
  async *watch(kind: string, options: HubWatch): AsyncIterable<WatchBatch<ApiObject>> {
    const { signal, bookmarkMs, withPrevious = false } = options;
    this.#check(options.fromRevision);
    // Watchers without bookmarks, such as those of rights, are few, and are woken at once.
    using waiter = this.#wakes.join(kind, signal, bookmarkMs === undefined);
    const selection = new Selection(options);
    const scope = scopeKey({ ...options, kind, withPrevious });
    let cursor = options.fromRevision;
    let sentAt = this.#clock.monotonic();
    while (!signal.aborted) {
      if (cursor < this.#revision) {
        const from = cursor;
        const batch = await this.#shared.after(from, scope, async () => {
          const published = await this.#after(from);
          const events = await this.#select(published, kind, selection, withPrevious);
          // Frozen, because all watchers of this scope get it.
          const revision = published.at(-1)?.revision ?? from;
          return Object.freeze({ revision, events: Object.freeze(events) });
        });
        cursor = batch.revision;
        if (batch.events.length > 0) {
          sentAt = this.#clock.monotonic();
          yield batch;
        }
        continue;
      }
      const bookmarkAt = bookmarkMs === undefined ? undefined : sentAt + bookmarkMs;
      if (bookmarkAt !== undefined && bookmarkAt <= this.#clock.monotonic()) {
        sentAt = this.#clock.monotonic();
        yield { revision: cursor, events: [] };
        continue;
      }
      // Nothing that was published up to this revision concerns this watcher.
      cursor = Math.max(cursor, await waiter.wait(bookmarkAt));
    }
  }

  async #select(
    published: readonly Published[],
    kind: string,
    selection: Selection,
    withPrevious: boolean,
  ): Promise<WatchEvent<ApiObject>[]> {
    const byEntry = selection.byKeyOnly && !withPrevious;
    const slice = new TimeSlice(this.#clock);
    const events: WatchEvent<ApiObject>[] = [];
    for (const { changes } of published) {
      for (const change of changes) {
        if (change.kind !== kind || !selection.hasKey(change.entry.key)) continue;
        const before = byEntry || change.before ? change.before : await this.#before(change);
        const event = selection.event(change, before);
        if (event) events.push(event);
        if (slice.due()) await slice.pause();
      }
    }
    return events;
  }

  /**
   * The previous state of a change, from the log; undefined for a creation.
   * @throws StatusError OutOfRange, DataLoss
   */
  async #before({ predecessor, entry }: Change): Promise<LazyObject | undefined> {
    if (!predecessor) return undefined;
    const bytes = await this.#options.engine.get(predecessor);
    if (bytes) {
      const record = decodeRecord({ ...predecessor, bytes });
      return new LazyObject(record.key, record, record.json);
    }
    // Compaction may have passed this change during the read.
    this.#check(entry.revision - 1);
    throw logHole(predecessor.revision);
  }

  /**
   * Delivers batches to `sink`, in this process: once it has caught up, `sink` runs inside the publication itself.
   * Resolves when the signal aborts; no batch is delivered after that. If `sink` throws, the subscription ends with its
   * error: `sink` may have processed part of the batch, so that only a new list is consistent. A returned promise is
   * not awaited; its rejection also ends the subscription.
   * @throws StatusError OutOfRange if `fromRevision` is compacted or ahead, InvalidArgument for an invalid revision,
   * DataLoss for a hole in the log; errors of `sink`
   */
  async subscribe(
    kind: string,
    fromRevision: number,
    sink: (batch: StoredBatch<ApiObject>) => void,
    signal: AbortSignal,
  ): Promise<void> {
    this.#check(fromRevision);
    using _hold = holdProcess(this.#clock);
    let cursor = fromRevision;
    let failed: { readonly error: unknown } | undefined;
    let end: (error: unknown) => void = (error) => (failed = { error });
    const deliver = (batch: readonly Published[]): void => {
      if (signal.aborted) return;
      cursor = batch.at(-1)?.revision ?? cursor;
      const given: unknown = sink({ revision: cursor, events: storedEvents(batch, kind) });
      if (given instanceof Promise) given.catch((error: unknown) => end(error));
    };
    while (cursor < this.#ring.start) {
      if (signal.aborted) return;
      deliver(await this.#after(cursor));
    }
    deliver(this.#ring.after(cursor));
    await new Promise<void>((resolve, reject) => {
      if (signal.aborted) return resolve();
      if (failed) return reject(StatusError.from(failed.error));
      const subscriber: Subscriber = { deliver, fail: (error) => end(error) };
      const aborted = (): void => {
        this.#subscribers.delete(subscriber);
        resolve();
      };
      end = (error) => {
        this.#subscribers.delete(subscriber);
        signal.removeEventListener('abort', aborted);
        reject(StatusError.from(error));
      };
      this.#subscribers.add(subscriber);
      signal.addEventListener('abort', aborted, { once: true });
    });
  }
}

function storedEvents(
  batch: readonly Published[],
  kind: string,
): readonly StoredEvent<ApiObject>[] {
  const events: StoredEvent<ApiObject>[] = [];
  for (const { changes } of batch)
    for (const { kind: of, type, entry } of changes)
      if (of === kind) events.push({ type: type === 'DELETED' ? 'delete' : 'set', entry });
  return events;
}
