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

/** Backoff before a broken watch is resumed. */
const resumeBackoff = { baseMs: 200, maxMs: 5_000, jitter: 0.5 };

/** A watch of a store in another process. */
export interface ResumedWatch<T extends ApiObject> {
  readonly kind: string;
  readonly options: Pick<WatchOptions, 'signal' | 'bookmarkMs'>;
  /** The start cursor; empty for the present objects. */
  readonly start: () => string;
  /** One stream from a cursor on, to its end. */
  readonly open: (cursor: string) => AsyncIterable<WatchBatch<T>>;
  /** Aborts when the store closes. */
  readonly closing: AbortSignal;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
}

/**
 * Yields the batches of a watch, which is resumed automatically after a broken connection.
 * @throws StatusError OutOfRange as every watch, Unavailable if it ends before all initial objects were delivered,
 * Unauthenticated if a renewed token is refused too.
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
        const reported = batch.events.length > 0 || batch.initial !== undefined;
        if (reported || bookmarkMs !== undefined) yield batch;
        if (signal.aborted) return;
      }
    } catch (error) {
      const passing = hasCode(error, 'Unavailable') || hasCode(error, 'Unauthenticated');
      // After an Unauthenticated error the first retry uses a renewed token. Without a cursor the watch can't resume.
      const again = hasCode(error, 'Unavailable') || failures === 0;
      if (!passing || !again || cursor === '') throw error;
      watch.logger.info('watch is being resumed', { kind, error: messageOf(error) });
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
    message: `the watch of ${kind} ended before all initial objects were delivered; restart it`,
  });
}
