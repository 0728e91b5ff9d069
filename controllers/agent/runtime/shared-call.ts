/**
 * A call that many make at the same time, and whose answer is the same for all. Those who ask while it runs share
 * the next one, so that each gets an answer that was begun after it asked.
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

  /** @throws what the call throws, to all who share it */
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
