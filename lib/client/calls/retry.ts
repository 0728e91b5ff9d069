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

/** The retries of a call. */
export interface RetryOptions {
  /** Maximum number of tries, including the first. */
  readonly attempts: number;
  /** Whether repeating the call has no further effect. */
  readonly idempotent: boolean;
  readonly signal: AbortSignal | undefined;
  /** Called before a call whose answer was lost is repeated: it may have been executed. */
  readonly onLostAnswer?: (() => void) | undefined;
}

/**
 * Whether a call whose answer was lost may be repeated. The call may have been executed, and others
 * may have written since, so a repetition must change nothing. Reads, dry runs and deletions by uid
 * are repeated. A replacement is not repeated: without a version it would undo a later write, with
 * one it would be refused although it was executed. A deletion by name is not repeated either: it
 * could delete a recreated object.
 */
export function isIdempotent(route: HttpRoute | undefined, request: JsonObject): boolean {
  if (route?.method === 'GET' || request.dryRun === true) return true;
  const byUid = textOf(request, 'uid') !== '' && textOf(request, 'resourceVersion') === '';
  return route?.method === 'DELETE' && byUid;
}

function isLost(error: unknown): boolean {
  return hasCode(error, 'Unavailable');
}

/**
 * True for a transient failure that is safe to retry. A call that failed as DeadlineExceeded had all of its time: a
 * server that accepts connections and does not answer would hold each attempt for as long.
 */
function isPassing(error: unknown, idempotent: boolean): boolean {
  // The server refused the call before it did anything.
  if (hasCode(error, 'ResourceExhausted')) return true;
  return idempotent && isLost(error);
}

/**
 * Repeats a call until it succeeds, fails in a way that is not safe to repeat, or has used its attempts, or until
 * `signal` aborts. Waits at least as long as the server requests.
 */
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
