import {
  type Clock,
  guardedLogger,
  guardedMetrics,
  hasCode,
  type Logger,
  type Metrics,
  noMetrics,
  portRules,
  requireOptions,
  silentLogger,
  someText,
  storeRule,
  systemClock,
  timestamp,
} from '../base/index.js';
import { type ApiObject, defineKind, keyString, type Kind, keyOf } from '../object/index.js';
import { modify, type ObjectStore } from '../store/index.js';
import { TokenBucket } from '../workqueue/index.js';

/** An occurrence about an object, for people. Kubernetes' Event in our flat shape. */
export interface Event extends ApiObject {
  readonly type: 'Normal' | 'Warning';
  /** A CamelCase word. */
  readonly reason: string;
  readonly message: string;
  readonly regarding: {
    readonly kind: string;
    readonly name: string;
    readonly namespace?: string;
    readonly uid: string;
  };
  /** The source of the event. */
  readonly source: string;
  /** Number of occurrences. */
  readonly count: number;
  /** Further events of this reason that were dropped by the rate limit. */
  readonly dropped?: number;
  readonly firstSeenAt: string;
  readonly lastSeenAt: string;
}

/** The kind of events; they expire. */
export const events = defineKind<Event>({
  kind: 'Event',
  plural: 'events',
  scope: 'Namespaced',
  statusFields: [],
});

/** Dependencies and bounds of a recorder. */
export interface EventRecorderOptions {
  readonly store: ObjectStore;
  /** The source of every event, and a label of the metric. */
  readonly source: string;
  /** Kind of the written events; default: {@link events}. */
  readonly kind?: Kind<Event>;
  /** Lifetime of an event after its last occurrence; default 1 hour. */
  readonly ttlMs?: number;
  /** Rate limit per object and reason: burst size and events per second; default 25 and one in 5 minutes. */
  readonly burst?: number;
  readonly perSecond?: number;
  readonly clock?: Clock;
  readonly logger?: Logger;
  readonly metrics?: Metrics;
}

/** Maximum number of rate limiters, one per object and reason. */
const pacesMax = 4_096;

interface Pace {
  readonly bucket: TokenBucket<string>;
  /** Events dropped since the last written one. */
  dropped: number;
}

/** The content of an event and its object. */
interface Occurrence {
  readonly kind: string;
  readonly object: ApiObject;
  readonly type: Event['type'];
  readonly reason: string;
  readonly message: string;
}

/** Occurrences of one event that are written together. */
interface Tally {
  count: number;
  dropped: number;
}

/**
 * Records events about objects: a repeated event increments its count instead of creating another.
 *
 * Guarantees: every occurrence is counted, in the event or as dropped. Occurrences of one event during its write
 * are written together afterwards. The rate limit is per object *and reason*, so that one noisy reason hides no
 * other. Dropped and failed events are counted in the metric `events_dropped_total`, and in the next event of that
 * object and reason that is written, if its rate limiter is among the last 4,096 used ones.
 *
 * Ordering: events of different names are written in any order.
 *
 * Errors: `record` and `flush` never fail. An event that can't be written is logged and counted as dropped.
 *
 * Caveats: unwritten events are lost when the process dies; see {@link EventRecorder.flush}.
 *
 * @example
 * import { EventRecorder } from 'kedge';
 *
 * const recorder = new EventRecorder({ store, source: 'lamp-controller' });
 * const lamp = await store.get(lamps, { name: 'hall' });
 * if (lamp) recorder.record({ kind: lamps.kind, object: lamp }, 'Warning', 'BulbBroken', 'the bulb is dark');
 * await recorder.flush();
 */
export class EventRecorder {
  readonly #options: EventRecorderOptions;
  readonly #kind: Kind<Event>;
  readonly #clock: Clock;
  readonly #logger: Logger;
  readonly #dropped;
  readonly #paces = new Map<string, Pace>();
  /** Occurrences that wait for a write of the event of that name; each write in progress has an entry. */
  readonly #waiting = new Map<string, Tally>();
  readonly #under = new Set<Promise<void>>();

  /** @throws TypeError, RangeError that names an invalid option */
  constructor(options: EventRecorderOptions) {
    const source = someText('the name of this source, such as "lamp-controller"');
    requireOptions('EventRecorder', options, { store: storeRule, source, ...portRules });
    this.#options = options;
    this.#kind = options.kind ?? events;
    this.#clock = options.clock ?? systemClock;
    this.#logger = guardedLogger(options.logger ?? silentLogger);
    const metrics = guardedMetrics(options.metrics ?? noMetrics, this.#logger);
    // Validates the rate, so that an invalid one fails at once.
    this.#newPace();
    this.#dropped = metrics.counter({
      name: 'events_dropped_total',
      help: 'Events that were not written: dropped by the rate limit of their reason, or failed',
      labels: ['source', 'reason'],
    });
  }

  /** Queues an event for writing, unless the rate limit drops it. Never throws. */
  record(
    about: { readonly kind: string; readonly object: ApiObject },
    type: Event['type'],
    reason: string,
    message: string,
  ): void {
    try {
      this.#record({ ...about, type, reason, message });
    } catch (error) {
      this.#logger.warn('event could not be recorded', { reason, error });
    }
  }

  /** Resolves when no event waits for its write: each was written or counted as dropped. */
  async flush(): Promise<void> {
    while (this.#under.size > 0) await Promise.all(this.#under);
  }

  #record(occurrence: Occurrence): void {
    const { object, reason } = occurrence;
    const pace = this.#pace(`${object.metadata.uid} ${reason}`);
    if (!pace.bucket.take()) return this.#drop(pace, reason, 1);
    const { dropped } = pace;
    pace.dropped = 0;
    const name = this.#nameOf(occurrence);
    const id = `${object.namespace ?? ''}/${name}`;
    const waiting = this.#waiting.get(id);
    if (waiting) {
      waiting.count += 1;
      waiting.dropped += dropped;
      return;
    }
    const writing = this.#writeAll(id, name, occurrence, { count: 1, dropped }).finally(() =>
      this.#under.delete(writing),
    );
    this.#under.add(writing);
  }

  /** Writes an event, then later occurrences, until none are left. Never rejects. */
  async #writeAll(id: string, name: string, occurrence: Occurrence, first: Tally): Promise<void> {
    const { object, reason } = occurrence;
    for (let tally = first; tally.count > 0; ) {
      const next: Tally = { count: 0, dropped: 0 };
      this.#waiting.set(id, next);
      try {
        await this.#write(name, occurrence, tally);
      } catch (error) {
        this.#logger.warn('event could not be written', { reason, count: tally.count, error });
        const pace = this.#pace(`${object.metadata.uid} ${reason}`);
        pace.dropped += tally.dropped;
        this.#drop(pace, reason, tally.count);
      }
      tally = next;
    }
    this.#waiting.delete(id);
  }

  #drop(pace: Pace, reason: string, count: number): void {
    pace.dropped += count;
    this.#dropped.inc({ source: this.#options.source, reason }, count);
  }

  #newPace(): Pace {
    const { perSecond = 1 / 300, burst = 25 } = this.#options;
    return { bucket: new TokenBucket(this.#clock, { perSecond, burst }), dropped: 0 };
  }

  /** The rate limiter of an id; the least recently used one is evicted. */
  #pace(id: string): Pace {
    const pace = this.#paces.get(id) ?? this.#newPace();
    this.#paces.delete(id);
    this.#paces.set(id, pace);
    const oldest = this.#paces.keys().next();
    if (this.#paces.size > pacesMax && !oldest.done) this.#paces.delete(oldest.value);
    return pace;
  }

  #nameOf({ kind, object, type, reason, message }: Occurrence): string {
    const { uid } = object.metadata;
    const parts = [
      this.#options.source,
      kind,
      keyString(keyOf(object)),
      uid,
      type,
      reason,
      message,
    ];
    return `${object.name}.${fingerprint(parts)}`;
  }

  async #write(
    name: string,
    { kind, object, type, reason, message }: Occurrence,
    { count, dropped }: Tally,
  ): Promise<void> {
    const { store, source, ttlMs = 3_600_000 } = this.#options;
    const now = timestamp(this.#clock);
    const expiresAt = new Date(this.#clock.now() + ttlMs).toISOString();
    const { uid } = object.metadata;
    const namespace = object.namespace ?? 'default';
    const first = {
      name,
      namespace,
      type,
      reason,
      message,
      regarding: { kind, ...keyOf(object), uid },
      source,
      count,
      ...(dropped > 0 ? { dropped } : {}),
      firstSeenAt: now,
      lastSeenAt: now,
      metadata: { expiresAt },
    };
    try {
      await store.create(this.#kind, first);
    } catch (error) {
      if (!hasCode(error, 'AlreadyExists')) throw error;
      const changed = await modify(store, this.#kind, { namespace, name }, (event) => ({
        ...event,
        count: event.count + count,
        ...(dropped > 0 ? { dropped: (event.dropped ?? 0) + dropped } : {}),
        lastSeenAt: now,
        metadata: { ...event.metadata, expiresAt },
      }));
      // The event expired meanwhile: create it again.
      if (!changed) await store.create(this.#kind, first);
    }
  }
}

/**
 * A hash for names of events: FNV-1a, twice with different offsets, so that equal events get the same name. Not for
 * secrets.
 */
function fingerprint(parts: readonly string[]): string {
  const text = parts.join('\n');
  return [0x811c9dc5, 0x01000193]
    .map((offset) => {
      let hash = offset;
      for (let i = 0; i < text.length; i += 1)
        hash = Math.imul(hash ^ text.charCodeAt(i), 0x01000193) >>> 0;
      return hash.toString(16).padStart(8, '0');
    })
    .join('');
}
