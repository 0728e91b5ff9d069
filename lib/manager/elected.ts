/** The moment from which controllers run here; its rejection may be unhandled. */
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

  /** It will not come; without effect once it has come. */
  never(error: Error): void {
    this.#reject(error);
  }
}
