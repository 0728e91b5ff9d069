/** The event from which controllers run here; its rejection may be unhandled. */
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

  /** Rejects waits for the election; no-op after it. */
  never(error: Error): void {
    this.#reject(error);
  }
}
