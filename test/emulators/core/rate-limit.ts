/** The verdict of a rate limit on one request. */
export interface RateVerdict {
  readonly allowed: boolean;
  readonly limit: number;
  readonly remaining: number;
  /** Seconds since the epoch. Its meaning differs between {@link SlidingWindows} and {@link GradualLimit}. */
  readonly resetAt: number;
  /** Seconds after which the request would be allowed; absent if the provider does not state them. */
  readonly retryAfter?: number;
}

/** A limit over a sliding window. */
export interface Window {
  readonly max: number;
  readonly windowMs: number;
  /** Whether refusals by this limit state the seconds to wait. */
  readonly saysRetryAfter: boolean;
}

const seconds = (ms: number): number => Math.ceil(ms / 1000);

/**
 * Limits over sliding windows: each allowed request counts until its window has passed. The figures of the verdict are
 * those of the first window; `resetAt` is the time at which its oldest request no longer counts.
 */
export class SlidingWindows {
  readonly #windows: readonly [Window, ...Window[]];
  readonly #taken = new Map<string, readonly number[]>();

  constructor(windows: readonly [Window, ...Window[]]) {
    this.#windows = windows;
  }

  take(key: string, now: number): RateVerdict {
    const longest = Math.max(...this.#windows.map(({ windowMs }) => windowMs));
    const before = (this.#taken.get(key) ?? []).filter((at) => at > now - longest);
    const within = ({ windowMs }: Window): readonly number[] =>
      before.filter((at) => at > now - windowMs);
    const full = this.#windows.find((window) => within(window).length >= window.max);
    const taken = full ? before : [...before, now];
    this.#taken.set(key, taken);
    const [first] = this.#windows;
    const counted = taken.filter((at) => at > now - first.windowMs);
    const figures = {
      allowed: full === undefined,
      limit: first.max,
      remaining: Math.max(0, first.max - counted.length),
      resetAt: seconds((counted[0] ?? now) + first.windowMs),
    };
    if (!full?.saysRetryAfter) return figures;
    const oldest = within(full)[0] ?? now;
    return { ...figures, retryAfter: Math.max(1, seconds(oldest + full.windowMs - now)) };
  }
}

/** A limit that recovers continuously. `resetAt` is the time at which it will have recovered completely. */
export class GradualLimit {
  readonly #max: number;
  readonly #perSecond: number;
  readonly #left = new Map<string, { readonly tokens: number; readonly at: number }>();

  constructor(max: number, perSecond: number) {
    this.#max = max;
    this.#perSecond = perSecond;
  }

  take(key: string, now: number): RateVerdict {
    const { tokens, at } = this.#left.get(key) ?? { tokens: this.#max, at: now };
    const recovered = Math.min(this.#max, tokens + ((now - at) / 1000) * this.#perSecond);
    const allowed = recovered >= 1;
    const left = allowed ? recovered - 1 : recovered;
    this.#left.set(key, { tokens: left, at: now });
    const fullAt = now + ((this.#max - left) / this.#perSecond) * 1000;
    return { allowed, limit: this.#max, remaining: Math.floor(left), resetAt: seconds(fullAt) };
  }
}

/** Returns a verdict as headers. cloud1 and cloud2 use the same names for them. */
export function rateHeaders(verdict: RateVerdict): Readonly<Record<string, string>> {
  const { limit, remaining, resetAt, retryAfter } = verdict;
  return {
    'ratelimit-limit': String(limit),
    'ratelimit-remaining': String(remaining),
    'ratelimit-reset': String(resetAt),
    ...(retryAfter === undefined ? {} : { 'retry-after': String(retryAfter) }),
  };
}
