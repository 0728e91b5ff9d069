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

/** Start position: `cursor` takes precedence over `fromRevision`. Without a position, the present state comes first. */
export interface FollowStart<T extends ApiObject> {
  readonly fromRevision?: number;
  readonly cursor?: string;
  /** The objects at that position, so that a relist can deliver deletions. */
  readonly known?: readonly T[];
  readonly signal: AbortSignal;
  /** Called once per outage, with the error of the first failure that occurs five seconds or more after its start. */
  readonly onAway?: (error: unknown) => void;
}

/** The source of changes. */
export interface FollowSource<T extends ApiObject> {
  /** Lists the present objects with a position for the watch. */
  list(): Promise<ResourceList<T>>;
  /** Batches after a position, until the connection breaks. @throws StatusError OutOfRange: list again */
  watch(from: WatchPosition, signal: AbortSignal): AsyncIterable<WatchBatch<T>>;
}

/** Options for following changes. */
export interface FollowOptions<T extends ApiObject> {
  /** The position after which changes are delivered; undefined: the present state comes first. */
  readonly from: WatchPosition | undefined;
  /** The objects that the caller knows at `from`. */
  readonly known?: readonly T[];
  readonly signal: AbortSignal;
  readonly onAway?: ((error: unknown) => void) | undefined;
  readonly clock: Clock;
  readonly random: Random;
}

/** A failure is reported after this time, in milliseconds. */
const awayAfterMs = 5_000;

/** True for a transient error: the server is unreachable or overloaded. */
function passes(error: unknown): boolean {
  return hasCode(error, 'Unavailable') || hasCode(error, 'ResourceExhausted');
}

const backoff: BackoffOptions = { baseMs: 250, maxMs: 30_000, jitter: 0.5 };

/**
 * Delivers changes until the signal aborts. A broken connection is resumed. If the source can't resume (its history was
 * compacted, or the store was replaced), it is listed again: at once, and with backoff on repetition. Missing objects
 * are then delivered as DELETED, new and changed ones as MODIFIED.
 * @throws StatusError of any code except Unavailable, ResourceExhausted and OutOfRange
 */
export async function* followChanges<T extends ApiObject>(
  source: FollowSource<T>,
  { from, known: given = [], signal, onAway, clock, random }: FollowOptions<T>,
): AsyncIterable<WatchEvent<T>> {
  const known = new Map(given.map((object) => [keyString(keyOf(object)), object]));
  let at = from;
  let away: { readonly sinceMs: number; readonly reported: boolean } | undefined;
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
      away ??= { sinceMs: clock.monotonic(), reported: false };
      if (away.reported || clock.monotonic() - away.sinceMs < awayAfterMs) continue;
      away = { ...away, reported: true };
      onAway?.(error);
    }
  }
}

/** Yields the differences between delivered and present objects; updates `known`. */
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
