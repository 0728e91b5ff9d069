/** Maximum messages that are decompressed at a time. The store's files use the same threads. */
const runningMax = 2;

interface Waiting {
  readonly isOver: () => boolean;
  readonly start: (done: () => void) => void;
}

/**
 * Decompresses few messages of all calls at a time: a message of 4 KB may become one of four megabytes. Connections take
 * turns, so that those with few messages do not wait for those with many.
 */
export class DecompressionPace {
  /** The messages that wait, by connection. The first connection is served next. */
  readonly #waiting = new Map<object, Waiting[]>();
  #running = 0;

  /**
   * Starts a decompression when it is its turn, which may be at once.
   * @param isOver whether its call is over, so that it is not needed any more
   */
  begin(connection: object, isOver: () => boolean, start: (done: () => void) => void): void {
    const waiting = this.#waiting.get(connection);
    if (waiting) waiting.push({ isOver, start });
    else this.#waiting.set(connection, [{ isOver, start }]);
    this.#serve();
  }

  #serve(): void {
    while (this.#running < runningMax) {
      const next = this.#next();
      if (!next) return;
      if (next.isOver()) continue;
      this.#running += 1;
      next.start(() => {
        this.#running -= 1;
        this.#serve();
      });
    }
  }

  #next(): Waiting | undefined {
    for (const [connection, waiting] of this.#waiting) {
      const next = waiting.shift();
      this.#waiting.delete(connection);
      // Reinserted at the end of the map.
      if (waiting.length > 0) this.#waiting.set(connection, waiting);
      return next;
    }
    return undefined;
  }
}
