import type { Clock, Timer } from '../../base/index.js';
import type { AnyKind, ApiObject } from '../../object/index.js';
import type { Operation } from '../contract/operations.js';
import type { Expiry } from '../log/restore.js';

/** Delay after a deletion that could not be written. */
const retryMs = 1_000;
/** Interval of wall clock checks while an object waits: timers do not notice a clock jump. */
const recheckMs = 10_000;
/** Maximum deletions per turn of the event loop; the others follow in later turns. */
const batchMax = 200;

interface Waiting extends Expiry {
  /** Wall-clock time of the next attempt: the expiry, or later after a failure. */
  readonly tryAt: number;
}

/**
 * Deletes expired objects, with one timer for all.
 *
 * While the store accepts writes, an object is deleted within about ten seconds after the wall clock reaches its time,
 * also by a jump; after a jump back it is kept until the clock reaches its time again. A failed deletion is retried
 * every second.
 */
export class Expiries {
  readonly #clock: Clock;
  /** Deletes the object unless it expires later now; rejects if it can't be written now. */
  readonly #expire: (expiry: Expiry) => Promise<void>;
  readonly #waiting = new Map<string, Waiting>();
  #timer: Timer | undefined;
  /** Monotonic time at which the timer fires. */
  #timerAt = Infinity;
  #closed = false;

  constructor(clock: Clock, expire: (expiry: Expiry) => Promise<void>, start: readonly Expiry[]) {
    this.#clock = clock;
    this.#expire = expire;
    for (const { kind, key, at } of start)
      if (!Number.isNaN(at)) this.#waiting.set(idOf({ kind, key }), { kind, key, at, tryAt: at });
    this.#arm(this.#earliest());
  }

  /** Number of objects that will expire. */
  get size(): number {
    return this.#waiting.size;
  }

  /** Notes the state of an object after a change; `at` undefined (or not a time) for one that does not expire. */
  note(kind: string, key: string, at: number | undefined): void {
    // Fast path: most stores have no expiring objects.
    if (at === undefined && this.#waiting.size === 0) return;
    const id = idOf({ kind, key });
    if (at === undefined || Number.isNaN(at)) {
      this.#waiting.delete(id);
      return;
    }
    if (this.#closed) return;
    this.#waiting.set(id, { kind, key, at, tryAt: at });
    this.#arm(at);
  }

  close(): void {
    this.#closed = true;
    this.#timer?.cancel();
    this.#waiting.clear();
  }

  /** Sets the timer for a wall-clock time, or earlier to check the clock again. */
  #arm(at: number): void {
    if (this.#closed || at === Infinity) return;
    const delayMs = Math.min(Math.max(0, at - this.#clock.now()), recheckMs);
    const timerAt = this.#clock.monotonic() + delayMs;
    if (timerAt >= this.#timerAt) return;
    this.#timer?.cancel();
    this.#timerAt = timerAt;
    this.#timer = this.#clock.setTimer(() => void this.#run(), delayMs, { background: true });
  }

  async #run(): Promise<void> {
    this.#timerAt = Infinity;
    const now = this.#clock.now();
    const batch: Waiting[] = [];
    for (const waiting of this.#waiting.values()) {
      if (waiting.tryAt <= now) batch.push(waiting);
      if (batch.length === batchMax) break;
    }
    const outcomes = await Promise.allSettled(batch.map((waiting) => this.#expire(waiting)));
    outcomes.forEach(({ status }, i) => {
      const tried = batch[i];
      // If the object was noted meanwhile, its new entry stays.
      if (!tried || this.#waiting.get(idOf(tried)) !== tried) return;
      const id = idOf(tried);
      if (status === 'fulfilled') this.#waiting.delete(id);
      else this.#waiting.set(id, { ...tried, tryAt: this.#clock.now() + retryMs });
    });
    this.#arm(this.#earliest());
  }

  /** A loop instead of Math.min of a spread, which throws for more than about 100,000 entries. */
  #earliest(): number {
    let earliest = Infinity;
    for (const { tryAt } of this.#waiting.values()) if (tryAt < earliest) earliest = tryAt;
    return earliest;
  }
}

function idOf({ kind, key }: { readonly kind: string; readonly key: string }): string {
  return `${kind} ${key}`;
}

/** The deletion of an expired object; undefined if it was deleted, or expires later now. */
export function expiredDeletion(
  object: ApiObject | undefined,
  { kind, at }: Expiry,
): Operation | undefined {
  const { resourceVersion, expiresAt } = object?.metadata ?? {};
  if (!object || expiresAt === undefined || Date.parse(expiresAt) > at) return undefined;
  const { namespace, name } = object;
  const key = namespace === undefined ? { name } : { namespace, name };
  const precondition = { resourceVersion: resourceVersion ?? '' };
  // A deletion needs only the name of the kind.
  return { op: 'deleteByName', kind: { kind } as AnyKind, key, precondition };
}
