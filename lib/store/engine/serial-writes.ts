import { messageOf, StatusError } from '../../base/index.js';

/**
 * Runs one write at a time, in the order they are asked for, and none after one that failed. LevelDB would
 * take the next one, but a record that was written in part shifts everything after it: what is acknowledged
 * then may not be found again.
 */
export class SerialWrites {
  readonly #settle: () => Promise<void> | undefined;
  /** Writes that have not settled. */
  #count = 0;
  /** The one that was asked for last. */
  #last: Promise<void> = Promise.resolve();
  #failure: StatusError | undefined;

  /** @param settle what every write is followed by before it is acknowledged; undefined for nothing */
  constructor(settle: () => Promise<void> | undefined) {
    this.#settle = settle;
  }

  /** The database was opened: what failed before is over. */
  restart(): void {
    this.#failure = undefined;
  }

  /** @throws StatusError Unavailable (WriteFailed) after a write that failed; what `work` throws */
  run(work: () => Promise<void>): Promise<void> {
    // A lone writer waits for nobody: each wait is one turn more of its write.
    const before = this.#count > 0 ? this.#last : undefined;
    this.#count += 1;
    this.#last = this.#perform(work, before);
    return this.#last;
  }

  async #perform(work: () => Promise<void>, before: Promise<void> | undefined): Promise<void> {
    try {
      // Its error is told to whoever asked for it, and kept here.
      if (before) await before.catch(() => undefined);
      if (this.#failure) throw this.#failure;
      await work();
      const settling = this.#settle();
      if (settling) await settling;
    } catch (cause) {
      this.#failure ??= new StatusError({
        code: 'Unavailable',
        reason: 'WriteFailed',
        message: `an earlier write failed (${messageOf(cause)}); nothing is written until the database is opened again`,
        cause,
      });
      throw cause;
    } finally {
      this.#count -= 1;
    }
  }
}
