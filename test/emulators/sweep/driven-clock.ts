import { FakeClock } from 'kedge/testing';

const stepMs = 250;

/** A clock that moves while work waits for it, and stands still while disks change. */
export class DrivenClock extends FakeClock {
  readonly #held: () => boolean;
  #working = 0;
  #moving = false;

  /** @param held whether something outside of the clock is going on */
  constructor(held: () => boolean) {
    super();
    this.#held = held;
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
    while (this.#working > 0)
      if (this.#held() || this.pending === 0)
        await new Promise<void>((resolve) => {
          setImmediate(resolve);
        });
      else await this.advance(stepMs);
    this.#moving = false;
  }
}
