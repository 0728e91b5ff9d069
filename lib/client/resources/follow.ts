import {
  backoffDelayMs,
  type BackoffOptions,
  type Clock,
  hasCode,
  type Random,
  sleep,
} from '../../base/index.js';
import {
  type ApiObject,
  keyOf,
  keyString,
  type WatchBatch,
  type WatchEvent,
  type WatchPosition,
} from '../../object/index.js';
import type { ResourceList } from './whole-list.js';

/** Where following begins: `cursor` wins, without either the present state is told first. */
export interface FollowStart<T extends ApiObject> {
  readonly fromRevision?: number;
  readonly cursor?: string;
  /** What was there at that position: what of it is gone when everything is listed again is told too. */
  readonly known?: readonly T[];
  readonly signal: AbortSignal;
  /** Called once each time that the server has been away for five seconds, with what the last try failed with. */
  readonly onAway?: (error: unknown) => void;
}

/** Where changes come from. */
export interface FollowSource<T extends ApiObject> {
  /** What is there, and where to watch from. */
  list(): Promise<ResourceList<T>>;
  /** Batches behind a position, until the connection breaks. @throws StatusError OutOfRange: list again */
  watch(from: WatchPosition, signal: AbortSignal): AsyncIterable<WatchBatch<T>>;
}

/** How changes are followed. */
export interface FollowOptions<T extends ApiObject> {
  /** Undefined: the present state is told first. */
  readonly from: WatchPosition | undefined;
  /** What the caller knows already, as of `from`. */
  readonly known?: readonly T[];
  readonly signal: AbortSignal;
  readonly onAway?: ((error: unknown) => void) | undefined;
  readonly clock: Clock;
  readonly random: Random;
}

/** A restart takes less, and is not told. */
const awayToldAfterMs = 5_000;

/** True for what ends by itself: the server is away, or takes no more calls for now. */
function passes(error: unknown): boolean {
  return hasCode(error, 'Unavailable') || hasCode(error, 'ResourceExhausted');
}

const backoff: BackoffOptions = { baseMs: 250, maxMs: 30_000, jitter: 0.5 };

/**
 * Every change, until the signal aborts. A connection that breaks is resumed where it was. Where the
 * source can't go on (its history was compacted, or it is another store now) it is listed again: at
 * once, and with growing pauses when that repeats. What differs from what was told is told then, as
 * deletions, additions and modifications.
 * @throws StatusError of any code but Unavailable, ResourceExhausted and OutOfRange
 */
export async function* followChanges<T extends ApiObject>(
  source: FollowSource<T>,
  { from, known: given = [], signal, onAway, clock, random }: FollowOptions<T>,
): AsyncIterable<WatchEvent<T>> {
  const known = new Map(given.map((object) => [keyString(keyOf(object)), object]));
  let at = from;
  let away: { readonly sinceMs: number; readonly told: boolean } | undefined;
  for (let failures = 0; !signal.aborted; failures += 1) {
    if (failures > 1) await sleep(clock, backoffDelayMs(backoff, failures - 2, random), signal);
    if (signal.aborted) return;
    try {
      if (at === undefined) {
        const { items, revision, cursor } = await source.list();
        yield* differences(known, items, revision);
        at = { cursor };
      }
      for await (const { events, revision, cursor } of source.watch(at, signal)) {
        failures = 0;
        away = undefined;
        for (const event of events) {
          const key = keyString(keyOf(event.object));
          if (event.type === 'DELETED') known.delete(key);
          else known.set(key, event.object);
          yield event;
        }
        at = cursor === undefined ? { fromRevision: revision } : { cursor };
      }
    } catch (error) {
      if (hasCode(error, 'OutOfRange')) {
        at = undefined;
        continue;
      }
      if (!passes(error)) throw error;
      away ??= { sinceMs: clock.monotonic(), told: false };
      if (away.told || clock.monotonic() - away.sinceMs < awayToldAfterMs) continue;
      away = { ...away, told: true };
      onAway?.(error);
    }
  }
}

/** What differs between what was told and what is there now; `known` is what is there afterwards. */
function* differences<T extends ApiObject>(
  known: Map<string, T>,
  items: readonly T[],
  revision: number,
): Iterable<WatchEvent<T>> {
  const present = new Map(items.map((object) => [keyString(keyOf(object)), object]));
  for (const [key, object] of known) {
    if (present.get(key)?.metadata.uid === object.metadata.uid) continue;
    known.delete(key);
    yield { type: 'DELETED', object, revision };
  }
  for (const [key, object] of present) {
    const { resourceVersion } = object.metadata;
    if (known.get(key)?.metadata.resourceVersion === resourceVersion) continue;
    known.set(key, object);
    yield { type: 'MODIFIED', object, revision: Number(resourceVersion) };
  }
}
