import { type Clock, type Logger, messageOf, StatusError, type Timer } from '../../base/index.js';
import type { Engine } from '../engine/engine.js';
import { DiskReserve } from './disk-reserve.js';
import type { Change } from '../index/selection.js';
import type { Operation } from '../contract/operations.js';
import type { WriteSet } from './write-set.js';

/** Free space is measured again after this time or this many bytes during writes. */
const everyMs = 1_000;
const everyBytes = 16 * 1024 * 1024;
/** Measurement interval without writes, if there is a reserve. */
const recheckMs = 5_000;
/** Space that LevelDB needs: it writes a table before it removes the corresponding log. */
const workingBytesMax = 16 * 1024 * 1024;
/** Maximum growth of an object in deletion by one write, for a status with the reason of its wait. */
const growthBytesMax = 4_096;
/** Maximum encoded bytes of a bookkeeping record on a full disk. */
const bookkeepingBytesMax = 16_384;

/** Whether a change is a small step of a deletion, or makes an object smaller. */
function leadsToLess(change: Change, bookkeeping: ReadonlySet<string>): boolean {
  const { type, entry, before, size } = change;
  if (type === 'DELETED') return true;
  const deleting = entry.object.metadata.deletionRequestedAt !== undefined;
  if (deleting && before) return size <= before.size + growthBytesMax;
  // A write that shrinks an object is accepted, such as the removal of an attachment, which blocks a deletion.
  if (before && size < before.size) return true;
  return bookkeeping.has(change.kind) && size <= bookkeepingBytesMax;
}

/** Dependencies and bounds of a {@link SpaceGuard}. */
export interface SpaceGuardOptions {
  readonly engine: Engine;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Free bytes, including those of the reserve, below which writes are refused. */
  readonly floor: number;
  /** Bytes to reserve; 0 for no reserve. */
  readonly reserveBytes: number;
}

/**
 * Refuses writes before the disk is full: LevelDB has to be reopened after ENOSPC, and deletions need space too.
 *
 * Below the floor only writes that free space are accepted: marking for deletion, finalizer removal and status of
 * objects in deletion, final deletions, their bookkeeping, and writes that make an object smaller. Below half of it
 * (with a reserve: a quarter of the reserve) only final deletions are accepted, so that other writes can't use up the
 * rest.
 *
 * Other programs write to the same disk. A part of the floor, the reserve, is therefore kept allocated: it counts as
 * free, and is released piece by piece for accepted writes.
 */
export class SpaceGuard {
  readonly #engine: Engine;
  readonly #clock: Clock;
  readonly #logger: Logger;
  readonly #floor: number;
  readonly #reserve: DiskReserve | undefined;
  /** Free bytes below which only final deletions are accepted. */
  readonly #finalBytes: number;
  readonly #workingBytes: number;
  readonly #reserveBytes: number;
  #error: StatusError | undefined;
  /** Free and reserved bytes at the last measurement, minus the writes since. */
  #left = Infinity;
  #free = Infinity;
  /** Bytes of accepted writes that are not on the disk yet. */
  #pending = 0;
  #askedAt = -Infinity;
  #measuredAt = -Infinity;
  #bytes = 0;
  #asking: Promise<void> | undefined;
  #timer: Timer | undefined;
  #closed = false;

  constructor({ engine, clock, logger, floor, reserveBytes }: SpaceGuardOptions) {
    this.#engine = engine;
    this.#clock = clock;
    this.#logger = logger;
    this.#floor = floor;
    this.#reserveBytes = reserveBytes;
    this.#workingBytes = Math.min(workingBytesMax, reserveBytes / 2);
    this.#finalBytes = floor / 2;
    const { reserve, location = '' } = engine;
    if (!reserve || reserveBytes === 0) return;
    this.#finalBytes = reserveBytes / 4;
    const keepFreeBytes = floor - reserveBytes;
    const bounds = { wholeBytes: reserveBytes, keepFreeBytes };
    this.#reserve = new DiskReserve({ reserve, ...bounds, location, logger });
    void this.#ask();
  }

  /** The error of refused writes; undefined unless the disk is nearly full. */
  get error(): StatusError | undefined {
    return this.#error;
  }

  /**
   * Waits for a measurement if the last one is old and there is a reserve: other programs may have filled the disk, and
   * an ordinary write must be refused before it needs the reserve. Undefined if no wait is needed.
   */
  measured(): Promise<void> | undefined {
    return this.#reserve && !this.#isKnown ? this.#ask() : undefined;
  }

  /**
   * Accepts a write. An ordinary one must not need the reserve, also after the accepted ones before it.
   * @throws StatusError ResourceExhausted (DiskFull) for a write without enough space.
   */
  accept({ changes, bytes }: WriteSet, operations: readonly Operation[]): void {
    const spare = this.#left - this.#pending - bytes;
    const isRoomy = !this.#error && spare >= this.#reserveBytes + this.#workingBytes;
    if (!isRoomy && bytes > 0) {
      this.#askAgain();
      const final = changes.every(({ type }) => type === 'DELETED');
      const bookkeeping = new Set<string>();
      for (const { kind } of operations) if (kind.takenWhenFull) bookkeeping.add(kind.kind);
      const less = changes.every((change) => leadsToLess(change, bookkeeping));
      if (!final && (!less || spare < this.#finalBytes)) throw this.#error ?? this.#tooLarge(bytes);
    }
    this.#pending += bytes;
  }

  /** Forgets the accepted writes that are not on the disk, because their outcome was read back. */
  clearPending(): void {
    this.#pending = 0;
  }

  /**
   * Releases as much of the reserve as the append of these accepted records needs. Undefined if no wait is needed:
   * without a reserve, or with enough free space.
   */
  makeRoom(records: readonly { readonly bytes: Buffer }[]): Promise<void> | undefined {
    if (!this.#reserve) return undefined;
    let bytes = this.#workingBytes;
    for (const record of records) bytes += record.bytes.length;
    return this.#isKnown && this.#free >= bytes ? undefined : this.#release(this.#reserve, bytes);
  }

  /** Counts written bytes, and measures the free space again when it is due. */
  noteWritten(bytes: number): void {
    this.#bytes += bytes;
    this.#free -= bytes;
    this.#left -= bytes;
    this.#pending = Math.max(0, this.#pending - bytes);
    this.#askAgain();
  }

  /** Ends background work. */
  async close(): Promise<void> {
    this.#closed = true;
    this.#timer?.cancel();
    await this.#asking;
    await this.#reserve?.close();
  }

  get #isKnown(): boolean {
    return this.#clock.monotonic() - this.#measuredAt < 2 * everyMs;
  }

  async #release(reserve: DiskReserve, bytes: number): Promise<void> {
    await this.#ask();
    if (this.#free < bytes && (await reserve.release(bytes))) await this.#ask();
  }

  #askAgain(): void {
    const now = this.#clock.monotonic();
    if (now - this.#askedAt >= everyMs || this.#bytes >= everyBytes) void this.#ask();
  }

  #ask(): Promise<void> {
    if (!this.#engine.freeBytes || this.#closed) return Promise.resolve();
    this.#askedAt = this.#clock.monotonic();
    this.#bytes = 0;
    this.#asking ??= this.#measure().finally(() => (this.#asking = undefined));
    return this.#asking;
  }

  async #measure(): Promise<void> {
    const begunAt = this.#clock.monotonic();
    try {
      const free = await this.#engine.freeBytes?.();
      // In this order a piece that is allocated meanwhile is counted twice. In the other order it would not be counted.
      await this.#reserve?.measure();
      this.#compare(free);
      void this.#reserve?.lay().then((laid) => (laid ? this.#ask() : undefined));
    } catch (error) {
      // If the free space is unknown, writes are accepted: their callers handle failed ones.
      this.#logger.debug('the free space of the disk is unknown', { error: messageOf(error) });
    }
    this.#measuredAt = begunAt;
    this.#measureLater();
  }

  /** Schedules the next measurement if no write causes one: other programs change the free space, too. */
  #measureLater(): void {
    this.#timer?.cancel();
    if (!this.#reserve || this.#closed) return;
    this.#timer = this.#clock.setTimer(() => void this.#ask(), recheckMs, { background: true });
  }

  #compare(free = Infinity): void {
    const held = this.#reserve?.heldBytes ?? 0;
    this.#free = free;
    this.#left = free + held;
    if (this.#left >= this.#floor) this.#error = undefined;
    else this.#error = this.#full(free, held);
  }

  /** The error of a write that fits on the disk neither by itself nor after the accepted ones. */
  #tooLarge(bytes: number): StatusError {
    const wanted = this.#pending > 0 ? `${bytes} after ${this.#pending} that wait` : `${bytes}`;
    return this.#refusal(
      `${this.#free} bytes free`,
      `this write needs ${wanted}: free disk space, or write less at once`,
    );
  }

  #full(free: number, held: number): StatusError {
    const reserved = this.#reserve ? ` and ${held} in its reserve` : '';
    const only = this.#left < this.#finalBytes ? ' (only of objects without finalizers)' : '';
    const remedy = 'free disk space, or delete objects that are not needed';
    return this.#refusal(
      `${free} bytes free${reserved}`,
      `writes need ${this.#floor}: ${remedy}; deletions are still accepted${only}`,
    );
  }

  #refusal(has: string, needed: string): StatusError {
    const { location } = this.#engine;
    const where = location === undefined ? '' : ` (${location})`;
    return new StatusError({
      code: 'ResourceExhausted',
      reason: 'DiskFull',
      message: `the disk of the store${where} has ${has}, and ${needed}`,
      retryAfterMs: everyMs,
    });
  }
}
