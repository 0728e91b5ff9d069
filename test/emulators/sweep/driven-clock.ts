import { FakeClock } from 'kedge/testing';
import type { Timer } from 'kedge';

/** Turns of the event loop in which work that is not waiting for the clock goes on. */
const turns = 4;

/** A clock that moves from timer to timer while work waits for it, and stands still while disks change. */
export class DrivenClock extends FakeClock {
  readonly #held: () => boolean;
  readonly #due = new Set<{ readonly at: number }>();
  #working = 0;
  #moving = false;

  /** @param held whether something outside of the clock is going on */
  constructor(held: () => boolean) {
    super();
    this.#held = held;
  }

  override setTimer(callback: () => void, delayMs: number): Timer {
    const due = { at: this.now() + Math.max(0, delayMs) };
    this.#due.add(due);
    const timer = super.setTimer(() => {
      this.#due.delete(due);
      callback();
    }, delayMs);
    return {
      cancel: () => {
        this.#due.delete(due);
        timer.cancel();
      },
    };
  }

  /** Runs work, whose waits take no time. */
  async during<T>(work: () => Promise<T>): Promise<T> {
    this.#working += 1;
    if (!this.#moving) void this.#move();
    try {
      return await work();
    } finally {
      this.#working -= 1;
    }
  }

  async #move(): Promise<void> {
    this.#moving = true;
    while (this.#working > 0) {
      for (let turn = 0; turn < turns || this.#held(); turn += 1)
        await new Promise<void>((resolve) => {
          setImmediate(resolve);
        });
      let next = Number.POSITIVE_INFINITY;
      for (const { at } of this.#due) next = Math.min(next, at);
      if (this.#working > 0 && Number.isFinite(next)) await this.advance(next - this.now());
    }
    this.#moving = false;
  }
}
