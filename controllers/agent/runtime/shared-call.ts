/**
 * Shares a call among concurrent callers. Callers that arrive while it runs share the next call, so that each result is
 * from a call that started after its request.
 *
 * @example
 * const version = new SharedCall(() => engine.version());
 * await version.ask();
 */
export class SharedCall<T> {
  readonly #call: () => Promise<T>;
  #running: Promise<T> | undefined;
  #next: Promise<T> | undefined;

  constructor(call: () => Promise<T>) {
    this.#call = call;
  }

  /**
   * Returns the result of a call that starts after this request.
   * @throws the error of the call, to all callers that share it
   */
  ask(): Promise<T> {
    if (this.#next) return this.#next;
    if (!this.#running) return this.#begin();
    const begin = (): Promise<T> => {
      this.#next = undefined;
      return this.#begin();
    };
    this.#next = this.#running.then(begin, begin);
    return this.#next;
  }

  #begin(): Promise<T> {
    const running = this.#call().finally(() => {
      if (this.#running === running) this.#running = undefined;
    });
    this.#running = running;
    return running;
  }
}
