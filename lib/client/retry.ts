import {
  backoffDelayMs,
  hasCode,
  sleep,
  StatusError,
  systemClock,
  systemRandom,
} from '../base/index.js';
import { type HttpRoute, isJsonObject, type JsonObject } from '../rpc/index.js';

const backoff = { baseMs: 100, maxMs: 5_000, jitter: 0.25 };

/** How a call is tried again. */
export interface RetryOptions {
  /** Tries in all. */
  readonly attempts: number;
  /** Doing it twice is doing it once. */
  readonly idempotent: boolean;
  readonly signal: AbortSignal | undefined;
}

function versioned(request: JsonObject): boolean {
  return Object.values(request).some(
    (value) =>
      isJsonObject(value) &&
      isJsonObject(value.metadata) &&
      typeof value.metadata.resourceVersion === 'string' &&
      value.metadata.resourceVersion !== '',
  );
}

/**
 * Whether repeating a call whose answer was lost changes nothing more, as its route tells: reads, dry runs, and replacing
 * without a version. With a version the repeat would be refused although the first one was done.
 */
export function isIdempotent(route: HttpRoute | undefined, request: JsonObject): boolean {
  if (route?.method === 'GET' || request.dryRun === true) return true;
  return route?.method === 'PUT' && !versioned(request);
}

/** True for a failure that went away by itself: nothing was done, or doing it again is no harm. */
function isPassing(error: unknown, idempotent: boolean): boolean {
  // Refused before anything was done.
  if (hasCode(error, 'ResourceExhausted')) return true;
  return idempotent && (hasCode(error, 'Unavailable') || hasCode(error, 'DeadlineExceeded'));
}

/** Tries until it works, fails for good, or was tried often enough; waits as long as the server asks for. */
export async function retried<T>(
  attempt: () => Promise<T>,
  { attempts, idempotent, signal }: RetryOptions,
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
    }
  }
}
