import { linkSignals, StatusError, systemClock } from '../../base/index.js';
import {
  type ApiObject,
  keyString,
  type ObjectKey,
  type WatchEvent,
  type WatchPosition,
} from '../../object/index.js';

/** The source of an awaited object. */
export interface WaitSource<T extends ApiObject> {
  readonly kind: string;
  /** The present position of the source. */
  readonly cursor: () => Promise<string>;
  readonly get: () => Promise<T | undefined>;
  readonly follow: (
    from: WatchPosition,
    known: readonly T[],
    signal: AbortSignal,
  ) => AsyncIterable<WatchEvent<T>>;
}

/** Options of the wait. A call of the source is not interrupted by them. */
export interface WaitOptions {
  readonly timeoutMs: number;
  readonly signal?: AbortSignal;
}

/**
 * Resolves to the object as soon as `holds` returns true; `undefined` represents a missing object.
 * @throws StatusError DeadlineExceeded with the last seen state, after `timeoutMs` or when `signal` aborts
 */
export async function waitForObject<T extends ApiObject>(
  source: WaitSource<T>,
  key: ObjectKey,
  holds: (object: T | undefined) => boolean,
  { timeoutMs, signal }: WaitOptions,
): Promise<T | undefined> {
  const stop = new AbortController();
  const sources = [stop.signal, ...(signal ? [signal] : [])];
  using link = linkSignals(...sources);
  const timer = systemClock.setTimer(() => stop.abort(), timeoutMs);
  try {
    const from = { cursor: await source.cursor() };
    let seen = await source.get();
    if (holds(seen)) return seen;
    const known = seen ? [seen] : [];
    for await (const { type, object } of source.follow(from, known, link.signal)) {
      if (object.name !== key.name) continue;
      seen = type === 'DELETED' ? undefined : object;
      if (holds(seen)) return seen;
    }
    const { status } = (seen ?? {}) as { readonly status?: string };
    throw new StatusError({
      code: 'DeadlineExceeded',
      reason: 'WaitedInVain',
      message: `${source.kind} "${keyString(key)}" did not meet the condition ${signal?.aborted ? 'before the wait was aborted' : `within ${timeoutMs} ms`}; it ${seen ? `is ${status ?? 'without a status'}` : 'does not exist'}`,
      resource: { kind: source.kind, ...key },
    });
  } finally {
    timer.cancel();
    stop.abort();
  }
}
