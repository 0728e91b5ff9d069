import { DriverError } from '../errors/errors.js';

/**
 * Serializes work per key in request order, and runs different keys in parallel: slow work delays only its own key.
 */
export class KeyedQueue {
  readonly #tails = new Map<string, Promise<unknown>>();

  /** Keys with running or waiting work. */
  get size(): number {
    return this.#tails.size;
  }

  /**
   * Runs `work` when all earlier work under `key` has ended.
   * @param signal aborts a waiting call: it rejects at once, and `work` is not run
   * @throws DriverError Unavailable if `signal` is aborted before the turn; the error of `work`
   */
  run<T>(key: string, work: () => Promise<T>, signal?: AbortSignal): Promise<T> {
    const before = this.#tails.get(key) ?? Promise.resolve();
    const givenUp = (): DriverError =>
      new DriverError(
        'Unavailable',
        'the call was cancelled while it waited for an earlier call for the same resource',
      );
    let begun = false;
    const turn = async (): Promise<T> => {
      if (signal?.aborted) throw givenUp();
      begun = true;
      return work();
    };
    const next = before.then(turn, turn);
    const tail = next
      .catch(() => undefined)
      .then(() => {
        if (this.#tails.get(key) === tail) this.#tails.delete(key);
      });
    this.#tails.set(key, tail);
    if (!signal) return next;
    return new Promise((resolve, reject) => {
      const abort = (): void => {
        if (!begun) reject(givenUp());
      };
      signal.addEventListener('abort', abort, { once: true });
      if (signal.aborted) abort();
      void next.then(resolve, reject).finally(() => signal.removeEventListener('abort', abort));
    });
  }
}
