import {
  backoffDelayMs,
  hasCode,
  sleep,
  StatusError,
  systemClock,
  systemRandom,
} from '../../base/index.js';
import { type HttpRoute, type JsonObject, textOf } from '../../rpc/index.js';

const backoff = { baseMs: 100, maxMs: 5_000, jitter: 0.25 };

/** How a call is tried again. */
export interface RetryOptions {
  /** Tries in all. */
  readonly attempts: number;
  /** Doing it twice is doing it once. */
  readonly idempotent: boolean;
  readonly signal: AbortSignal | undefined;
  /** Told before a try whose answer was lost is repeated: it may have been done. */
  readonly onLostAnswer?: (() => void) | undefined;
}

/**
 * Whether a call whose answer was lost may be repeated: when it may have been done, and somebody else
 * may have written since, doing it again must change nothing. So reads, dry runs, and deletions of
 * an object by its uid are repeated. Replacing is not: without a version it would undo the other's
 * write, with one it would be refused although it was done. Nor is a deletion by name, which would
 * hit an object created anew.
 */
export function isIdempotent(route: HttpRoute | undefined, request: JsonObject): boolean {
  if (route?.method === 'GET' || request.dryRun === true) return true;
  const byUid = textOf(request, 'uid') !== '' && textOf(request, 'resourceVersion') === '';
  return route?.method === 'DELETE' && byUid;
}

function isLost(error: unknown): boolean {
  return hasCode(error, 'Unavailable') || hasCode(error, 'DeadlineExceeded');
}

/** True for a failure that went away by itself: nothing was done, or doing it again is no harm. */
function isPassing(error: unknown, idempotent: boolean): boolean {
  // Refused before anything was done.
  if (hasCode(error, 'ResourceExhausted')) return true;
  return idempotent && isLost(error);
}

/** Tries until it works, fails for good, or was tried often enough; waits as long as the server asks for. */
export async function retried<T>(
  attempt: () => Promise<T>,
  { attempts, idempotent, signal, onLostAnswer }: RetryOptions,
): Promise<T> {
  for (let tries = 1; ; tries += 1) {
    try {
      return await attempt();
    } catch (error) {
      if (tries >= attempts || signal?.aborted || !isPassing(error, idempotent)) throw error;
      const askedMs = error instanceof StatusError ? (error.retryAfterMs ?? 0) : 0;
      const delayMs = backoffDelayMs(backoff, tries - 1, systemRandom);
      await sleep(systemClock, Math.max(askedMs, delayMs), signal);
      if (signal?.aborted) throw error;
      if (isLost(error)) onLostAnswer?.();
    }
  }
}
