/** Something opened that several uses share. */
export interface Lease<T> {
  readonly value: T;
  /** Ends this use. The last one closes the value. */
  close(): Promise<void>;
}

interface Opening<T> {
  users: number;
  readonly opened: Promise<T>;
}

/**
 * Opens something once for concurrent callers.
 *
 * Guarantees:
 * - Every caller gets a value whose opening began after its call, so that what the opening verifies holds then.
 * - At most one opening runs at a time.
 * - A value is closed when all its callers have closed their lease. An opening that fails rejects for all its callers.
 */
export class SharedOpening<T extends { close(): Promise<void> }> {
  readonly #open: () => Promise<T>;
  /** The opening in progress; never rejects. */
  #running: Promise<unknown> | undefined;
  /** The opening that begins after it. */
  #next: Opening<T> | undefined;

  constructor(open: () => Promise<T>) {
    this.#open = open;
  }

  async lease(): Promise<Lease<T>> {
    const opening = (this.#next ??= this.#begin());
    opening.users += 1;
    const value = await opening.opened;
    let closed = false;
    return {
      value,
      close: async () => {
        if (closed) return;
        closed = true;
        opening.users -= 1;
        if (opening.users === 0) await value.close();
      },
    };
  }

  #begin(): Opening<T> {
    const before = this.#running ?? Promise.resolve();
    const opened = before.then(() => {
      // Callers from now on need an opening that begins later.
      this.#next = undefined;
      return this.#open();
    });
    this.#running = opened.catch(() => undefined);
    return { users: 0, opened };
  }
}
