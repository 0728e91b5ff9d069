import { type Clock, limits, type Logger, StatusError } from '../base/index.js';
import type { ApiObject, WatchBatch, WatchEvent } from '../object/index.js';
import type { Engine, LogRecord } from './engine.js';
import type { WatchOptions } from './store.js';

/** Everything one revision changed. */
export interface Published {
  readonly revision: number;
  readonly changes: readonly Change[];
}

/** One change with the kind it belongs to and, while in memory, the state before. */
export interface Change {
  readonly kind: string;
  readonly event: WatchEvent<ApiObject>;
}

type Subscriber = (published: Published) => void;

function eventOf(record: LogRecord): WatchEvent<ApiObject> {
  return { type: record.type, object: record.object, revision: record.revision };
}

/**
 * Gives every watcher all events after its cursor, in order, each once.
 *
 * A watcher is one integer, not a queue: recent events lie in a shared ring, older ones are read
 * from the log, what is compacted is OutOfRange. So a slow watcher costs nothing and delays nobody.
 */
export class WatchHub {
  readonly #engine: Pick<Engine, 'read'>;
  readonly #clock: Clock;
  readonly #logger: Logger;
  readonly #ring: Published[] = [];
  #ringEvents = 0;
  /** Revision before the first one in the ring. */
  #ringStart: number;
  /** Last published revision. */
  #revision: number;
  #compacted: number;
  readonly #subscribers = new Set<Subscriber>();
  readonly #sleepers = new Set<() => void>();

  constructor(
    engine: Pick<Engine, 'read'>,
    clock: Clock,
    logger: Logger,
    revision: number,
    compacted: number,
  ) {
    this.#engine = engine;
    this.#clock = clock;
    this.#logger = logger;
    this.#revision = revision;
    this.#ringStart = revision;
    this.#compacted = compacted;
  }

  get revision(): number {
    return this.#revision;
  }

  /** Called once per revision, in order, when it is durable. Subscribers run before it returns. */
  publish(published: Published): void {
    this.#revision = published.revision;
    this.#ring.push(published);
    this.#ringEvents += published.changes.length;
    while (this.#ringEvents > limits.watchRingEvents && this.#ring.length > 1) {
      const oldest = this.#ring.shift();
      if (!oldest) break;
      this.#ringEvents -= oldest.changes.length;
      this.#ringStart = oldest.revision;
    }
    for (const subscriber of this.#subscribers) {
      try {
        subscriber(published);
      } catch (error) {
        // A subscriber's fault must not stop the commit that everyone else waits for.
        this.#logger.error('watch subscriber threw', { error });
      }
    }
    for (const wake of this.#sleepers) wake();
    this.#sleepers.clear();
  }

  setCompacted(revision: number): void {
    this.#compacted = revision;
  }

  /** Wakes every watcher so that it sees its signal; for close. */
  wakeAll(): void {
    for (const wake of this.#sleepers) wake();
    this.#sleepers.clear();
  }

  #check(fromRevision: number): void {
    if (fromRevision < this.#compacted)
      throw new StatusError({
        code: 'OutOfRange',
        reason: 'Compacted',
        message: `revision ${fromRevision} is compacted, history starts at ${this.#compacted}; list again and watch from the list's revision`,
      });
    if (fromRevision > this.#revision)
      throw new StatusError({
        code: 'OutOfRange',
        reason: 'FutureRevision',
        message: `revision ${fromRevision} has not happened yet, the store is at ${this.#revision}; list again and watch from the list's revision`,
      });
  }

  /** The next published revisions after `revision`: from the ring, else from the log. */
  async #after(revision: number): Promise<readonly Published[]> {
    if (revision >= this.#ringStart) {
      // Revisions are dense, so the position follows from the revision.
      const start = revision - this.#ringStart;
      return this.#ring.slice(start, start + limits.watchBatchEvents);
    }
    const records = await this.#engine.read(revision, limits.watchBatchEvents);
    // Compaction may have passed the cursor while the log was read: then the read may have holes.
    this.#check(revision);
    const byRevision = new Map<number, Change[]>();
    for (const record of records) {
      if (record.revision > this.#revision) break;
      const changes = byRevision.get(record.revision) ?? [];
      changes.push({ kind: record.kind, event: eventOf(record) });
      byRevision.set(record.revision, changes);
    }
    return [...byRevision].map(([at, changes]) => ({ revision: at, changes }));
  }

  /** Batches for one kind; see {@link WatchOptions}. Ends when the signal aborts. */
  async *watch(kind: string, options: WatchOptions): AsyncIterable<WatchBatch<ApiObject>> {
    const { signal, namespace, bookmarkMs } = options;
    this.#check(options.fromRevision);
    let cursor = options.fromRevision;
    let toldAt = this.#clock.monotonic();
    while (!signal.aborted) {
      if (cursor < this.#revision) {
        const published = await this.#after(cursor);
        const events = select(published, kind, namespace);
        cursor = published.at(-1)?.revision ?? cursor;
        if (events.length > 0) {
          toldAt = this.#clock.monotonic();
          yield { revision: cursor, events };
        }
        continue;
      }
      const leftMs =
        bookmarkMs === undefined
          ? undefined
          : Math.max(0, toldAt + bookmarkMs - this.#clock.monotonic());
      if (leftMs === 0) {
        toldAt = this.#clock.monotonic();
        yield { revision: cursor, events: [] };
        continue;
      }
      await this.#sleep(signal, leftMs);
    }
  }

  /** Resolves at the next publication, after `delayMs`, or when the signal aborts. */
  #sleep(signal: AbortSignal, delayMs: number | undefined): Promise<void> {
    return new Promise((resolve) => {
      const timer = delayMs === undefined ? undefined : this.#clock.setTimer(finish, delayMs);
      const sleepers = this.#sleepers;
      function finish(): void {
        timer?.cancel();
        signal.removeEventListener('abort', finish);
        sleepers.delete(finish);
        resolve();
      }
      sleepers.add(finish);
      signal.addEventListener('abort', finish, { once: true });
      if (signal.aborted) finish();
    });
  }

  /**
   * In-process form: `sink` runs inside the publication itself. Resolves when the signal aborts.
   * @throws StatusError OutOfRange when the ring no longer reaches back to `fromRevision`.
   */
  subscribe(
    kind: string,
    fromRevision: number,
    sink: (batch: WatchBatch<ApiObject>) => void,
    signal: AbortSignal,
  ): Promise<void> {
    if (fromRevision < this.#ringStart || fromRevision > this.#revision) {
      return Promise.reject(
        new StatusError({
          code: 'OutOfRange',
          reason: 'Compacted',
          message: `revision ${fromRevision} is no longer in memory`,
        }),
      );
    }
    const deliver = (published: Published): void => {
      const events = select([published], kind, undefined);
      sink({ revision: published.revision, events });
    };
    for (const published of this.#ring.slice(fromRevision - this.#ringStart)) deliver(published);
    this.#subscribers.add(deliver);
    return new Promise((resolve) => {
      const stop = (): void => {
        this.#subscribers.delete(deliver);
        resolve();
      };
      if (signal.aborted) stop();
      else signal.addEventListener('abort', stop, { once: true });
    });
  }
}

function select(
  published: readonly Published[],
  kind: string,
  namespace: string | undefined,
): WatchEvent<ApiObject>[] {
  const events: WatchEvent<ApiObject>[] = [];
  for (const { changes } of published) {
    for (const change of changes) {
      if (change.kind !== kind) continue;
      if (namespace !== undefined && change.event.object.namespace !== namespace) continue;
      events.push(change.event);
    }
  }
  return events;
}
