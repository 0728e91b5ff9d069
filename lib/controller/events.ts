import {
  type Clock,
  hasCode,
  type Logger,
  type Metrics,
  noMetrics,
  silentLogger,
  systemClock,
  timestamp,
} from '../base/index.js';
import { type ApiObject, defineKind, keyString, type Kind, keyOf } from '../object/index.js';
import { modify, type ObjectStore } from '../store/index.js';
import { TokenBucket } from '../workqueue/index.js';

/** Something that happened to an object, for people. Kubernetes' Event in our flat shape. */
export interface Event extends ApiObject {
  readonly type: 'Normal' | 'Warning';
  /** One CamelCase word. */
  readonly reason: string;
  readonly message: string;
  readonly regarding: {
    readonly kind: string;
    readonly name: string;
    readonly namespace?: string;
    readonly uid: string;
  };
  /** Who reports it. */
  readonly source: string;
  /** Times it was seen. */
  readonly count: number;
  /** Further events of this reason that were not written, because there were too many. */
  readonly dropped?: number;
  readonly firstSeenAt: string;
  readonly lastSeenAt: string;
}

/** Events; they expire. */
export const events = defineKind<Event>({
  kind: 'Event',
  plural: 'events',
  scope: 'Namespaced',
  statusFields: [],
});

/** Ports and bounds of a recorder. */
export interface EventRecorderOptions {
  readonly store: ObjectStore;
  /** In every event, and in the name of the metric's label. */
  readonly source: string;
  /** Default: {@link events}. */
  readonly kind?: Kind<Event>;
  /** Events live this long after they were last seen; default 1 hour. */
  readonly ttlMs?: number;
  /** Per object and reason: so many at once, then so many a second; default 25 and one in 5 minutes. */
  readonly burst?: number;
  readonly perSecond?: number;
  readonly clock?: Clock;
  readonly logger?: Logger;
  readonly metrics?: Metrics;
}

/** Objects and reasons whose pace is remembered. */
const pacesMax = 4_096;

interface Pace {
  readonly bucket: TokenBucket<string>;
  /** Not written since the last one that was. */
  dropped: number;
}

/**
 * Records events about objects: the same one again raises its count instead of making another.
 *
 * Better than client-go's in what hurts there (research/controllers.md 3-24): the pace is per object
 * *and reason*, so that one noisy reason hides no other, and what is dropped is counted, in the
 * metric `events_dropped_total` and in the next event that is written.
 *
 * Never throws: an event that can't be written is logged.
 */
export class EventRecorder {
  readonly #options: EventRecorderOptions;
  readonly #kind: Kind<Event>;
  readonly #clock: Clock;
  readonly #logger: Logger;
  readonly #dropped;
  readonly #paces = new Map<string, Pace>();
  readonly #under = new Set<Promise<void>>();

  constructor(options: EventRecorderOptions) {
    this.#options = options;
    this.#kind = options.kind ?? events;
    this.#clock = options.clock ?? systemClock;
    this.#logger = options.logger ?? silentLogger;
    this.#dropped = (options.metrics ?? noMetrics).counter({
      name: 'events_dropped_total',
      help: 'Events that were not written because there were too many of their reason',
      labels: ['source', 'reason'],
    });
  }

  /** Notes an event; it is written soon. */
  record(
    about: { readonly kind: string; readonly object: ApiObject },
    type: Event['type'],
    reason: string,
    message: string,
  ): void {
    const { uid } = about.object.metadata;
    const pace = this.#pace(`${uid} ${reason}`);
    if (!pace.bucket.take()) {
      pace.dropped += 1;
      this.#dropped.inc({ source: this.#options.source, reason });
      return;
    }
    const { dropped } = pace;
    pace.dropped = 0;
    const writing = this.#write(about, type, reason, message, dropped)
      .catch((error: unknown) => this.#logger.warn('event could not be written', { reason, error }))
      .finally(() => this.#under.delete(writing));
    this.#under.add(writing);
  }

  /** Resolves when everything noted so far is written. */
  async flush(): Promise<void> {
    await Promise.all(this.#under);
  }

  #pace(id: string): Pace {
    let pace = this.#paces.get(id);
    if (!pace) {
      const { perSecond = 1 / 300, burst = 25 } = this.#options;
      pace = { bucket: new TokenBucket(this.#clock, { perSecond, burst }), dropped: 0 };
      this.#paces.set(id, pace);
      const oldest = this.#paces.keys().next();
      if (this.#paces.size > pacesMax && !oldest.done) this.#paces.delete(oldest.value);
    }
    return pace;
  }

  async #write(
    { kind, object }: { readonly kind: string; readonly object: ApiObject },
    type: Event['type'],
    reason: string,
    message: string,
    dropped: number,
  ): Promise<void> {
    const { store, source, ttlMs = 3_600_000 } = this.#options;
    const now = timestamp(this.#clock);
    const expiresAt = new Date(this.#clock.now() + ttlMs).toISOString();
    const { uid } = object.metadata;
    const namespace = object.namespace ?? 'default';
    const name = `${object.name}.${fingerprint([source, kind, keyString(keyOf(object)), uid, type, reason, message])}`;
    const drops = dropped > 0 ? { dropped } : {};
    const first = {
      name,
      namespace,
      type,
      reason,
      message,
      regarding: { kind, ...keyOf(object), uid },
      source,
      count: 1,
      ...drops,
      firstSeenAt: now,
      lastSeenAt: now,
      metadata: { expiresAt },
    };
    try {
      await store.create(this.#kind, first);
    } catch (error) {
      if (!hasCode(error, 'AlreadyExists')) throw error;
      await modify(store, this.#kind, { namespace, name }, (event) => ({
        ...event,
        count: event.count + 1,
        ...(dropped > 0 ? { dropped: (event.dropped ?? 0) + dropped } : {}),
        lastSeenAt: now,
        metadata: { ...event.metadata, expiresAt },
      }));
    }
  }
}

/** FNV-1a, twice with different offsets: names events that say the same alike. Not for secrets. */
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
