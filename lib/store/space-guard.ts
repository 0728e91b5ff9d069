import { type Clock, limits, StatusError } from '../base/index.js';
import type { Engine } from './engine.js';
import type { Change } from './selection.js';
import type { Operation } from './store.js';
import type { WriteSet } from './write-set.js';

/** Asked again after this long or this many bytes, whichever comes first, as long as anything is written. */
const everyMs = 1_000;
const everyBytes = 16 * 1024 * 1024;
/** How much larger an object that is being deleted may get with one write: a status that says why it waits. */
const growthBytesMax = 4_096;
/** Encoded bytes of a bookkeeping record that is taken on a full disk. */
const bookkeepingBytesMax = 16_384;

/** Whether a change is a step of a deletion, or needed for one, and small. */
function leadsToLess(change: Change, bookkeeping: ReadonlySet<string>): boolean {
  const { type, entry, before, size } = change;
  if (type === 'DELETED') return true;
  const deleting = entry.object.metadata.deletionRequestedAt !== undefined;
  if (deleting && before) return size <= before.size + growthBytesMax;
  return bookkeeping.has(change.kind) && size <= bookkeepingBytesMax;
}

/**
 * Refuses writes before the disk is full: LevelDB has to be reopened after ENOSPC, and deletions need
 * room too.
 *
 * Below the floor only what leads to less is taken: marking for deletion, finalizer removal and status
 * of what is being deleted, final deletions, and the bookkeeping of those who do that. Below half of
 * the floor only final deletions are, so that nothing else can use up the rest.
 */
export class SpaceGuard {
  readonly #engine: Engine;
  readonly #clock: Clock;
  readonly #floor: number;
  #error: StatusError | undefined;
  /** Free bytes when last asked, less what was taken since. */
  #left = Infinity;
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

  /** @throws StatusError ResourceExhausted (DiskFull) for a write that there is no room for. */
  demandRoom({ changes, bytes }: WriteSet, operations: readonly Operation[]): void {
    if (!this.#error) return;
    this.#ask();
    const final = changes.every(({ type }) => type === 'DELETED');
    const bookkeeping = new Set<string>();
    for (const { kind } of operations) if (kind.takenWhenFull) bookkeeping.add(kind.kind);
    const less = changes.every((change) => leadsToLess(change, bookkeeping));
    if (!final && (!less || this.#left - bytes < this.#floor / 2)) throw this.#error;
    this.#left -= bytes;
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
    this.#left = free ?? Infinity;
    this.#error =
      this.#left >= this.#floor
        ? undefined
        : new StatusError({
            code: 'ResourceExhausted',
            reason: 'DiskFull',
            message: `the store's disk has ${free} bytes left, writes need ${this.#floor}; free some; deletions are still taken${this.#left < this.#floor / 2 ? ', those of objects without finalizers' : ''}`,
            retryAfterMs: everyMs,
          });
  }
}
