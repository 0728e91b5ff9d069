/** Maximum messages that are decompressed at a time. The store's files use the same threads. */
const runningMax = 2;

interface Waiting {
  readonly isOver: () => boolean;
  readonly start: (done: () => void) => void;
}

/** Decompresses few messages of all calls at a time: a message of 4 KB may become one of four megabytes. */
export class DecompressionPace {
  readonly #waiting: Waiting[] = [];
  #running = 0;

  /**
   * Starts a decompression when it is its turn, which may be at once.
   * @param isOver whether its call is over, so that it is not needed any more
   */
  begin(isOver: () => boolean, start: (done: () => void) => void): void {
    this.#waiting.push({ isOver, start });
    this.#serve();
  }

  #serve(): void {
    while (this.#running < runningMax) {
      const next = this.#waiting.shift();
      if (!next) return;
      if (next.isOver()) continue;
      this.#running += 1;
      next.start(() => {
        this.#running -= 1;
        this.#serve();
      });
    }
  }
}
