import type { Clock, Timer } from '../base/index.js';

interface Entry {
  readonly at: number;
  readonly order: number;
  readonly callback: () => void;
}

/**
 * A clock whose time moves only by `advance`. Timers due at one instant run in the order in which they were set.
 * Monotonic and wall-clock time are equal; deferred callbacks run in a later turn of the event loop, without `advance`.
 */
export class FakeClock implements Clock {
  #now: number;
  #order = 0;
  readonly #entries = new Set<Entry>();

  /** @param startMs wall-clock start, milliseconds since the epoch */
  constructor(startMs = Date.UTC(2026, 0, 1)) {
    this.#now = startMs;
  }

  now(): number {
    return this.#now;
  }

  monotonic(): number {
    return this.#now;
  }

  /** Number of pending timers. */
  get pending(): number {
    return this.#entries.size;
  }

  setTimer(callback: () => void, delayMs: number): Timer {
    const entry = { at: this.#now + Math.max(0, delayMs), order: (this.#order += 1), callback };
    this.#entries.add(entry);
    return { cancel: () => this.#entries.delete(entry) };
  }

  turnAgeMs(): number {
    return 0;
  }

  defer(callback: () => void): void {
    setImmediate(callback);
  }

  /** Advances the time, runs the timers that become due and lets promises settle after each. */
  async advance(byMs: number): Promise<void> {
    const end = this.#now + byMs;
    for (;;) {
      await settle();
      const next = [...this.#entries]
        .filter((entry) => entry.at <= end)
        .sort((a, b) => a.at - b.at || a.order - b.order)[0];
      if (!next) break;
      this.#entries.delete(next);
      this.#now = Math.max(this.#now, next.at);
      next.callback();
    }
    this.#now = end;
    await settle();
  }
}

/** Waits for eight turns of the event loop, in which pending promise chains and I/O callbacks run. */
export async function settle(): Promise<void> {
  for (let turn = 0; turn < 8; turn += 1)
    await new Promise<void>((resolve) => {
      setImmediate(resolve);
    });
}
