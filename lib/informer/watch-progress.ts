import { type Clock, messageOf } from '../base/index.js';

/** Health of a cache: one line with the problem and its duration. */
export interface InformerHealth {
  readonly healthy: boolean;
  readonly message: string;
}

/** The options of a {@link WatchProgress}. */
export interface WatchProgressOptions {
  readonly clock: Clock;
  /** A cache that lags behind its source for this long is unhealthy, milliseconds. */
  readonly staleAfterMs: number;
  /** Maximum silence of the source, if it sends bookmarks. */
  readonly silenceMs: number | undefined;
  /** The present revision of the source, if it can be queried. */
  readonly sourceRevision: (() => number) | undefined;
}

/** Tracks the revision of a cache and how long it has not advanced. Times are monotonic. */
export class WatchProgress {
  readonly #options: WatchProgressOptions;
  #revision: number | undefined;
  #progressAt: number;
  #startedAt: number | undefined;
  /** The time since which no watch delivered anything, and the last error. */
  #failing: { readonly since: number; readonly reason: string } | undefined;
  #watchingSince: number | undefined;

  constructor(options: WatchProgressOptions) {
    this.#options = options;
    this.#progressAt = this.#now;
  }

  get revision(): number | undefined {
    return this.#revision;
  }

  /** Milliseconds since the cache advanced or was confirmed. */
  get ageMs(): number {
    return this.#now - this.#progressAt;
  }

  get #now(): number {
    return this.#options.clock.monotonic();
  }

  started(): void {
    this.#startedAt ??= this.#now;
  }

  /** Records a list of this revision in the cache. */
  listed(revision: number): void {
    this.#revision = revision;
    this.#progressAt = this.#now;
  }

  /** Records the start of a watch. */
  watching(): void {
    this.#watchingSince = this.#now;
  }

  /** Records that the watch advanced the cache to this revision, or confirmed it. */
  moved(revision: number): void {
    this.listed(revision);
    this.#failing = undefined;
  }

  /** Records the end of a list or watch; without an error if the source closed the stream. */
  ended(error?: unknown): void {
    this.#watchingSince = undefined;
    const reason = error === undefined ? 'the stream ended' : messageOf(error);
    this.#failing = { since: this.#failing?.since ?? this.#now, reason };
  }

  health(): InformerHealth {
    if (this.#revision === undefined) return { healthy: false, message: this.#unsynced() };
    const { staleAfterMs, sourceRevision } = this.#options;
    const failing = this.#stillFailing();
    const failingMs = failing ? this.#now - failing.since : 0;
    if (failing && failingMs >= staleAfterMs)
      return red(
        `the watch has failed for ${seconds(failingMs)} (${failing.reason}); the cache is at revision ${this.#revision}`,
      );
    const source = sourceRevision?.();
    if (source !== undefined && source > this.#revision && this.ageMs >= staleAfterMs)
      return red(
        `the cache is at revision ${this.#revision}, its source at ${source}; it has not advanced for ${seconds(this.ageMs)}`,
      );
    return { healthy: true, message: `synced at revision ${this.#revision}` };
  }

  #unsynced(): string {
    if (this.#startedAt === undefined) return 'not synced yet, not started';
    const reason = this.#failing ? ` (${this.#failing.reason})` : '';
    return `not synced yet, for ${seconds(this.#now - this.#startedAt)}${reason}`;
  }

  /**
   * Returns the failure that still lasts, if any. A source without bookmarks may be silent, so its watch counts as
   * recovered once it has lasted `staleAfterMs`. With bookmarks, a watch counts as recovered only after a message.
   */
  #stillFailing(): { readonly since: number; readonly reason: string } | undefined {
    const { silenceMs, staleAfterMs } = this.#options;
    const watchedMs = this.#watchingSince === undefined ? 0 : this.#now - this.#watchingSince;
    if (silenceMs === undefined && watchedMs >= staleAfterMs) this.#failing = undefined;
    return this.#failing;
  }
}

function red(message: string): InformerHealth {
  return { healthy: false, message };
}

function seconds(ms: number): string {
  return `${Math.round(ms / 1_000)} s`;
}
