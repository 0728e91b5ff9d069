import { type Clock, limits, StatusError } from '../base/index.js';
import type { Engine } from './engine.js';

/** Asked again after this long or this many bytes, whichever comes first, as long as anything is written. */
const everyMs = 1_000;
const everyBytes = 16 * 1024 * 1024;

/**
 * Refuses writes before the disk is full: what LevelDB does on ENOSPC can only be healed by
 * reopening (research/reliability.md section 1), and deletions need room too.
 */
export class SpaceGuard {
  readonly #engine: Engine;
  readonly #clock: Clock;
  readonly #floor: number;
  #error: StatusError | undefined;
  #askedAt = -Infinity;
  #bytes = 0;
  #asking = false;

  constructor(engine: Engine, clock: Clock, floor: number = limits.freeBytesFloor) {
    this.#engine = engine;
    this.#clock = clock;
    this.#floor = floor;
  }

  /** Set while there is too little room. */
  get error(): StatusError | undefined {
    return this.#error;
  }

  /** @throws StatusError ResourceExhausted (DiskFull) */
  demandRoom(): void {
    if (!this.#error) return;
    this.#ask();
    throw this.#error;
  }

  noteWritten(bytes: number): void {
    this.#bytes += bytes;
    this.#ask();
  }

  #ask(): void {
    if (!this.#engine.freeBytes || this.#asking) return;
    const now = this.#clock.monotonic();
    if (now - this.#askedAt < everyMs && this.#bytes < everyBytes) return;
    this.#askedAt = now;
    this.#bytes = 0;
    this.#asking = true;
    // Not knowing is no reason to refuse: a write that fails is handled where it fails.
    void this.#engine
      .freeBytes()
      .then(
        (free) => this.#judge(free),
        () => undefined,
      )
      .finally(() => (this.#asking = false));
  }

  #judge(free: number | undefined): void {
    this.#error =
      free === undefined || free >= this.#floor
        ? undefined
        : new StatusError({
            code: 'ResourceExhausted',
            reason: 'DiskFull',
            message: `the store's disk has ${free} bytes left, writes need ${this.#floor}; free some, deletions are still taken`,
            retryAfterMs: everyMs,
          });
  }
}
