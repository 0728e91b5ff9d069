import { type Clock, type Timer } from '../base/index.js';
import type { Expiry } from './restore.js';

/** After a deletion that could not be written. */
const retryMs = 1_000;
/** Objects deleted at once; the next ones follow in a later turn. */
const batchMax = 200;

/** Deletes objects when their time has come: one timer, however many wait. */
export class Expiries {
  readonly #clock: Clock;
  /** Deletes the object unless it was changed since; rejects when it can't be written now. */
  readonly #expire: (expiry: Expiry) => Promise<void>;
  readonly #waiting = new Map<string, Expiry>();
  #timer: Timer | undefined;
  #timerAt = Infinity;
  #closed = false;

  constructor(clock: Clock, expire: (expiry: Expiry) => Promise<void>, start: readonly Expiry[]) {
    this.#clock = clock;
    this.#expire = expire;
    for (const expiry of start) this.#waiting.set(`${expiry.kind} ${expiry.key}`, expiry);
    this.#arm(this.#earliest());
  }

  /** Objects that will expire. */
  get size(): number {
    return this.#waiting.size;
  }

  /** Notes the state of an object after a change; `at` undefined for one that does not expire. */
  note(kind: string, key: string, at: number | undefined): void {
    // Most objects never expire, and most stores hold none that do.
    if (at === undefined && this.#waiting.size === 0) return;
    const id = `${kind} ${key}`;
    if (at === undefined) {
      this.#waiting.delete(id);
      return;
    }
    if (this.#closed) return;
    this.#waiting.set(id, { kind, key, at });
    this.#arm(at);
  }

  close(): void {
    this.#closed = true;
    this.#timer?.cancel();
    this.#waiting.clear();
  }

  #arm(at: number): void {
    if (at >= this.#timerAt || !Number.isFinite(at)) return;
    this.#timer?.cancel();
    this.#timerAt = at;
    const leftMs = Math.max(0, at - this.#clock.now());
    this.#timer = this.#clock.setTimer(() => void this.#run(), leftMs, { background: true });
  }

  async #run(): Promise<void> {
    this.#timerAt = Infinity;
    const now = this.#clock.now();
    const due = [...this.#waiting.values()].filter((expiry) => expiry.at <= now);
    const batch = due.slice(0, batchMax);
    for (const { kind, key } of batch) this.#waiting.delete(`${kind} ${key}`);
    const outcomes = await Promise.allSettled(batch.map((expiry) => this.#expire(expiry)));
    outcomes.forEach(({ status }, i) => {
      const expiry = batch[i];
      if (status === 'rejected' && expiry)
        this.note(expiry.kind, expiry.key, this.#clock.now() + retryMs);
    });
    this.#arm(this.#earliest());
  }

  /** A loop, not Math.min of a spread: that ends with an error from some 100,000 on. */
  #earliest(): number {
    let earliest = Infinity;
    for (const { at } of this.#waiting.values()) if (at < earliest) earliest = at;
    return earliest;
  }
}
