import {
  backoffDelayMs,
  type Clock,
  hasCode,
  type Logger,
  messageOf,
  type Random,
  sleep,
  StatusError,
} from '../../base/index.js';
import type { ApiObject, WatchBatch } from '../../object/index.js';
import type { WatchOptions } from '../../store/index.js';

/** Pause before a broken watch is resumed. */
const resumeBackoff = { baseMs: 200, maxMs: 5_000, jitter: 0.5 };

/** A watch of a store in another process. */
export interface ResumedWatch<T extends ApiObject> {
  readonly kind: string;
  readonly options: Pick<WatchOptions, 'signal' | 'bookmarkMs'>;
  /** The cursor that it begins at; empty for the objects that there are. */
  readonly start: () => string;
  /** One stream from a cursor on, to its end. */
  readonly open: (cursor: string) => AsyncIterable<WatchBatch<T>>;
  /** Of the store. */
  readonly closing: AbortSignal;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
}

/**
 * Goes on by itself when the connection breaks, where it was.
 * @throws StatusError OutOfRange as every watch, Unavailable when it breaks before the objects of
 * the beginning were all told.
 */
export async function* resumedWatch<T extends ApiObject>(
  watch: ResumedWatch<T>,
): AsyncIterable<WatchBatch<T>> {
  const { kind, closing } = watch;
  const { signal, bookmarkMs } = watch.options;
  let cursor = watch.start();
  for (let failures = 0; !signal.aborted && !closing.aborted; ) {
    try {
      for await (const batch of watch.open(cursor)) {
        failures = 0;
        cursor = batch.cursor ?? cursor;
        const told = batch.events.length > 0 || batch.initial !== undefined;
        if (told || bookmarkMs !== undefined) yield batch;
        if (signal.aborted) return;
      }
    } catch (error) {
      const passing = hasCode(error, 'Unavailable') || hasCode(error, 'Unauthenticated');
      // A token may be renewed once; without a cursor there is nowhere to go on.
      const again = hasCode(error, 'Unavailable') || failures === 0;
      if (!passing || !again || cursor === '') throw error;
      watch.logger.info('watch is taken up again', { kind, error: messageOf(error) });
    }
    if (signal.aborted || closing.aborted) return;
    if (cursor === '') throw brokeOff(kind);
    const delayMs = backoffDelayMs(resumeBackoff, failures, watch.random);
    failures += 1;
    await sleep(watch.clock, delayMs, signal);
  }
}

function brokeOff(kind: string): StatusError {
  return new StatusError({
    code: 'Unavailable',
    reason: 'WatchBroke',
    message: `the watch of ${kind} broke before all objects of its beginning were told; begin it anew`,
  });
}
