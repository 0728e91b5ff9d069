import {
  backoffDelayMs,
  type BackoffOptions,
  type Clock,
  hasCode,
  type Random,
  sleep,
} from '../base/index.js';
import {
  type ApiObject,
  keyOf,
  keyString,
  type WatchBatch,
  type WatchEvent,
  type WatchPosition,
} from '../object/index.js';
import type { ResourceList } from './whole-list.js';

/** Where following begins: `cursor` wins, without either the present state is told first. */
export interface FollowStart<T extends ApiObject> {
  readonly fromRevision?: number;
  readonly cursor?: string;
  /** What was there at that position: what of it is gone when everything is listed again is told too. */
  readonly known?: readonly T[];
  readonly signal: AbortSignal;
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
  readonly clock: Clock;
  readonly random: Random;
}

const backoff: BackoffOptions = { baseMs: 250, maxMs: 30_000, jitter: 0.5 };

/**
 * Every change, until the signal aborts. A connection that breaks is resumed where it was. Where the
 * source can't go on (its history was compacted, or it is another store now) it is listed again: at
 * once, and with growing pauses when that repeats. What differs from what was told is told then, as
 * deletions, additions and modifications.
 */
export async function* followChanges<T extends ApiObject>(
  source: FollowSource<T>,
  { from, known: given = [], signal, clock, random }: FollowOptions<T>,
): AsyncIterable<WatchEvent<T>> {
  const known = new Map(given.map((object) => [keyString(keyOf(object)), object]));
  let at = from;
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
        for (const event of events) {
          const key = keyString(keyOf(event.object));
          if (event.type === 'DELETED') known.delete(key);
          else known.set(key, event.object);
          yield event;
        }
        at = cursor === undefined ? { fromRevision: revision } : { cursor };
      }
    } catch (error) {
      if (hasCode(error, 'OutOfRange')) at = undefined;
      else if (!hasCode(error, 'Unavailable')) throw error;
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
