import type { Random } from './random.js';

/** Exponential backoff: `baseMs * 2^failures`, at most `maxMs`, spread by `jitter` (a share of the delay). */
export interface BackoffOptions {
  readonly baseMs: number;
  readonly maxMs: number;
  /** 0 to 1; the delay is multiplied by a factor in [1 - jitter, 1 + jitter]. Default 0.1. */
  readonly jitter?: number;
}

/** Delay before the next try after `failures` failures in a row (0 or more), in milliseconds. */
export function backoffDelayMs(options: BackoffOptions, failures: number, random: Random): number {
  // 2^1023 is the largest power a double holds; beyond, the cap decides anyway.
  const raw = Math.min(options.maxMs, options.baseMs * 2 ** Math.min(failures, 1000));
  const jitter = options.jitter ?? 0.1;
  return Math.max(0, raw * (1 - jitter + 2 * jitter * random.next()));
}
