import { messageOf, StatusError } from '../../base/index.js';

/**
 * Runs one write at a time, in order, and none after a failed one. LevelDB would accept the next one, but a partial
 * record shifts everything after it, so that an acknowledged write could be lost.
 */
export class SerialWrites {
  readonly #settle: () => Promise<void> | undefined;
  /** Writes that have not settled. */
  #count = 0;
  /** The last requested write. */
  #last: Promise<void> = Promise.resolve();
  #failure: StatusError | undefined;

  /**
   * @param settle called after every write, before the write is acknowledged; returns undefined if no wait is needed
   */
  constructor(settle: () => Promise<void> | undefined) {
    this.#settle = settle;
  }

  /** Clears the earlier failure, because the database was reopened. */
  restart(): void {
    this.#failure = undefined;
  }

  /**
   * Runs `work` after all earlier writes.
   * @throws StatusError Unavailable (WriteFailed) after a failed write; errors of `work`
   */
  run(work: () => Promise<void>): Promise<void> {
    // A lone writer does not await, because that would add a turn to its write.
    const before = this.#count > 0 ? this.#last : undefined;
    this.#count += 1;
    this.#last = this.#perform(work, before);
    return this.#last;
  }

  async #perform(work: () => Promise<void>, before: Promise<void> | undefined): Promise<void> {
    try {
      // The error of the earlier write goes to its own caller; `#failure` refuses this write.
      if (before) await before.catch(() => undefined);
      if (this.#failure) throw this.#failure;
      await work();
      const settling = this.#settle();
      if (settling) await settling;
    } catch (cause) {
      this.#failure ??= new StatusError({
        code: 'Unavailable',
        reason: 'WriteFailed',
        message: `an earlier write failed (${messageOf(cause)}); no write is accepted until the database is reopened`,
        cause,
      });
      throw cause;
    } finally {
      this.#count -= 1;
    }
  }
}
