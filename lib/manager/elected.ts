/** A promise that resolves once controllers run in this process. Its rejection need not be handled. */
export class Elected {
  readonly promise: Promise<void>;
  #resolve: () => void = () => undefined;
  #reject: (error: Error) => void = () => undefined;

  constructor() {
    this.promise = new Promise((resolve, reject) => {
      this.#resolve = resolve;
      this.#reject = reject;
    });
    this.promise.catch(() => undefined);
  }

  now(): void {
    this.#resolve();
  }

  /** Rejects the promise; no-op once it has resolved. */
  never(error: Error): void {
    this.#reject(error);
  }
}
