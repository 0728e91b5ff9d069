/** The end of a stream. */
export interface GuardedEnd {
  /** Ends the stream with its reason. */
  readonly signal: AbortSignal;
  /** Whether the signal will abort, so that no value is passed on any more. */
  readonly isDue: boolean;
  /** A check in progress that may make the end due: a value is passed on after it and the one that follows at once. */
  readonly check?: Promise<void> | undefined;
}

/** The source of a stream, and what ends it. */
export interface OpenedStream<T> {
  readonly source: AsyncIterable<T>;
  readonly end: GuardedEnd;
}

/** The begin and the end of a {@link GuardedStream}. */
export interface StreamGuard<T> {
  /** Called by the first request for a value. */
  open(): Promise<OpenedStream<T>>;
  /** Called once, if `open` was called; with the failure that ended the stream, if any. */
  close(failure?: unknown): void;
}

/**
 * The values of a source until a signal ends them. The source may ignore signals: one that is waiting is abandoned, and
 * its remaining values are dropped. It is not a generator, because each nested generator costs several microtasks for
 * every value of every watcher.
 */
export class GuardedStream<T> implements AsyncIterableIterator<T> {
  readonly #guard: StreamGuard<T>;
  #iterator: AsyncIterator<T> | undefined;
  #end: GuardedEnd | undefined;
  #isOver = false;
  /** Rejects the value that the consumer waits for. */
  #refuse: ((reason: unknown) => void) | undefined;
  // One listener for all values, because a race with one promise would leak memory per value.
  readonly #ended = (): void => {
    const reason: unknown = this.#end?.signal.reason;
    if (this.#refuse) return this.#fail(reason, this.#refuse);
    // The consumer may wait for its reader without end: the source is freed now, and the next call gets the reason.
    this.#fail(reason, () => (this.#unreported = { reason }));
  };
  #unreported: { readonly reason: unknown } | undefined;

  constructor(guard: StreamGuard<T>) {
    this.#guard = guard;
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  /**
   * Resolves to the next value.
   * @throws the reason of the signal, regardless of how the source ends; errors of the source
   */
  next(): Promise<IteratorResult<T, undefined>> {
    if (this.#isOver) return this.#over();
    const iterator = this.#iterator;
    if (!iterator) return this.#begin();
    return new Promise((resolve, reject) => {
      this.#refuse = reject;
      iterator.next().then(
        (result) => {
          const pass = (): void => {
            if (this.#isRefused(reject)) return;
            this.#refuse = undefined;
            if (!result.done) return resolve(result);
            this.#close();
            resolve({ done: true, value: undefined });
          };
          const check = this.#end?.check;
          if (!check) return pass();
          // Rights may have changed during the check, after that of this stream.
          void check.then(() => {
            const next = this.#end?.check;
            if (next) void next.then(pass);
            else pass();
          });
        },
        (thrown: unknown) => {
          if (!this.#isRefused(reject)) this.#fail(thrown, reject);
        },
      );
    });
  }

  /**
   * Ends the stream. A source that was not ended by the signal is awaited.
   * @throws the error with which the source ends
   */
  async return(): Promise<IteratorResult<T, undefined>> {
    if (this.#isOver || !this.#iterator) {
      this.#isOver = true;
      return { done: true, value: undefined };
    }
    this.#isOver = true;
    let failure: unknown;
    try {
      const leaving = this.#iterator.return?.();
      // The source may wait forever.
      if (this.#end?.isDue) leaving?.catch(() => undefined);
      else await leaving;
    } catch (thrown) {
      failure = thrown;
      throw thrown;
    } finally {
      this.#isOver = false;
      this.#close(failure);
    }
    return { done: true, value: undefined };
  }

  /** Whether the end is due. The consumer gets its reason, at the latest when the signal aborts. */
  #isRefused(reject: (reason: unknown) => void): boolean {
    if (!this.#end?.isDue) return false;
    if (this.#end.signal.aborted) this.#fail(this.#end.signal.reason, reject);
    return true;
  }

  #over(): Promise<IteratorResult<T, undefined>> {
    const unreported = this.#unreported;
    this.#unreported = undefined;
    if (!unreported) return Promise.resolve({ done: true, value: undefined });
    return new Promise((_, reject) => this.#fail(unreported.reason, reject));
  }

  async #begin(): Promise<IteratorResult<T, undefined>> {
    try {
      const { source, end } = await this.#guard.open();
      // The consumer has left meanwhile.
      if (this.#isOver) {
        this.#guard.close();
        return await this.#over();
      }
      this.#end = end;
      end.signal.addEventListener('abort', this.#ended, { once: true });
      this.#iterator = source[Symbol.asyncIterator]();
      if (end.signal.aborted) this.#ended();
    } catch (thrown) {
      this.#isOver = false;
      this.#close(thrown);
      throw thrown;
    }
    return this.next();
  }

  #fail(reason: unknown, reject: (reason: unknown) => void): void {
    if (!this.#isOver) {
      // The consumer gets the reason; the source may wait forever.
      this.#iterator?.return?.().catch(() => undefined);
      this.#close(reason);
    }
    reject(reason);
  }

  #close(failure?: unknown): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#refuse = undefined;
    this.#end?.signal.removeEventListener('abort', this.#ended);
    this.#guard.close(failure);
  }
}
