import type { Clock } from '../../base/index.js';

/** Streams that are ended in one turn of the event loop. */
const turnMax = 32;

/** The check of rights in progress, which never rejects. */
export interface ChecksInProgress {
  readonly present?: Promise<void> | undefined;
}

/**
 * The end of a stream whose caller has lost the right to it. Its values must be dropped while `isDue` is true: the signal
 * may abort in a later turn.
 */
export class StreamEnd {
  readonly #controller = new AbortController();
  readonly #checks: ChecksInProgress;
  #reason: { readonly error: unknown } | undefined;

  /** @param checks the checks of rights that may make the end due */
  constructor(checks: ChecksInProgress = {}) {
    this.#checks = checks;
  }

  /**
   * The check of rights that is in progress; values must wait for it, and for the next one if it follows at once.
   * Undefined if there is none.
   */
  get check(): Promise<void> | undefined {
    return this.#checks.present;
  }

  /** Aborts with the error for the caller. */
  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  /** Whether the stream has to end. */
  get isDue(): boolean {
    return this.#reason !== undefined;
  }

  /** Makes the end due. The first reason counts. Returns false if it was due. */
  mark(error: unknown): boolean {
    if (this.#reason) return false;
    this.#reason = { error };
    return true;
  }

  /** Aborts the signal if the end is due. */
  abort(): void {
    if (this.#reason) this.#controller.abort(this.#reason.error);
  }

  /** @throws the reason if the end is due */
  throwIfDue(): void {
    if (this.#reason) throw this.#reason.error;
  }

  /** The values of an iterator until the end is due; further ones are dropped. */
  until<T>(source: AsyncIterator<T>): AsyncIterable<T> {
    // Not a generator: its return would wait for a value that is still awaited.
    const next = async (): Promise<IteratorResult<T>> => {
      const result = await source.next();
      await this.check;
      // Rights may have changed during the check, after that of this stream.
      await this.check;
      return this.isDue ? { done: true, value: undefined } : result;
    };
    const end = (): Promise<IteratorResult<T>> =>
      source.return?.() ?? Promise.resolve({ done: true, value: undefined });
    return { [Symbol.asyncIterator]: () => ({ next, return: end }) };
  }
}

/** Ends streams over several turns of the event loop: an account may lose its right to thousands at once. */
export class PacedEnds {
  readonly #clock: Pick<Clock, 'defer'>;
  /** Streams to end, oldest first. */
  readonly #due = new Set<StreamEnd>();
  #endedInTurn = 0;
  #isDeferred = false;

  constructor(clock: Pick<Clock, 'defer'>) {
    this.#clock = clock;
  }

  /** Ends a stream. From now on it is due; its signal aborts at once if few were ended in this turn. */
  end(end: StreamEnd, error: unknown): void {
    if (!end.mark(error)) return;
    this.#due.add(end);
    if (!this.#isDeferred) this.#later();
    this.#abort();
  }

  #later(): void {
    this.#isDeferred = true;
    this.#clock.defer(() => {
      this.#endedInTurn = 0;
      this.#isDeferred = this.#due.size > 0;
      if (!this.#isDeferred) return;
      this.#later();
      this.#abort();
    });
  }

  #abort(): void {
    for (const end of this.#due) {
      if (this.#endedInTurn >= turnMax) return;
      this.#endedInTurn += 1;
      this.#due.delete(end);
      end.abort();
    }
  }
}
