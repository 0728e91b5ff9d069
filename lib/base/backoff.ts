import { StatusError } from './errors.js';
import type { Random } from './random.js';

/** Exponential backoff: `baseMs * 2^failures`, spread by `jitter` (a share of the delay), never above `maxMs`. */
export interface BackoffOptions {
  readonly baseMs: number;
  readonly maxMs: number;
  /** 0 to 1; the delay is multiplied by a factor in [1 - jitter, 1 + jitter]. Default 0.1. */
  readonly jitter?: number;
}

/**
 * Checks the options of a backoff.
 * @param name of the option, for the message
 * @throws RangeError for times that are not finite, 0 or more, and for a jitter outside 0 to 1.
 */
export function requireBackoff(name: string, options: BackoffOptions): void {
  const { baseMs, maxMs, jitter = 0 } = options;
  for (const [field, value] of Object.entries({ baseMs, maxMs }))
    if (!Number.isFinite(value) || value < 0)
      throw new RangeError(`${name}.${field} is ${value}; give milliseconds, 0 or more`);
  if (!(jitter >= 0 && jitter <= 1))
    throw new RangeError(`${name}.jitter is ${jitter}; give a share from 0 to 1`);
}

/**
 * Returns the delay before the next retry after `failures` failures in a row (0 or more), in milliseconds; at most
 * `maxMs`. At the cap, delays are spread below it, so that many keys do not retry at the same time.
 */
export function backoffDelayMs(options: BackoffOptions, failures: number, random: Random): number {
  // Larger exponents make no difference, because the cap applies long before; the bound keeps the power finite.
  const jitter = options.jitter ?? 0.1;
  const raw = options.baseMs * 2 ** Math.min(failures, 1000);
  const middle = Math.min(options.maxMs / (1 + jitter), raw);
  return Math.min(options.maxMs, middle * (1 - jitter + 2 * jitter * random.next()));
}

/** The delay in milliseconds that an error requests (`StatusError.retryAfterMs`); 0 if it requests none. */
export function retryAfterOf(error: unknown): number {
  const askedMs = error instanceof StatusError ? (error.retryAfterMs ?? 0) : 0;
  return Number.isFinite(askedMs) && askedMs > 0 ? askedMs : 0;
}
