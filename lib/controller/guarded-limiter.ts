import type { CallbackFaults } from '../base/index.js';
import type { ItemBackoff, RateLimiter } from '../workqueue/index.js';

/**
 * Returns a limiter with the longer of two delays: that of the key's backoff and that of the embedder's limiter. An
 * embedder's limiter that throws or does not return a number of milliseconds is reported and ignored.
 */
export function guardedLimiter(
  backoff: ItemBackoff<string>,
  limiter: RateLimiter<string> | undefined,
  faults: CallbackFaults,
): RateLimiter<string> {
  if (!limiter) return backoff;
  return {
    when(key, error) {
      const ownMs = backoff.when(key, error);
      try {
        const askedMs = limiter.when(key, error);
        if (Number.isFinite(askedMs)) return Math.max(ownMs, askedMs);
        throw new TypeError(`the limiter returned ${String(askedMs)}; return milliseconds`);
      } catch (fault) {
        faults.report('limiter', fault, { key });
        return ownMs;
      }
    },
    failures: (key) => backoff.failures(key),
    forget(key) {
      backoff.forget(key);
      try {
        limiter.forget(key);
      } catch (fault) {
        faults.report('limiter', fault, { key });
      }
    },
  };
}
