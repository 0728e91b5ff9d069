/** The messages of a client stream, which its handler takes one at a time. */
export class MessageQueue {
  readonly #onEmpty: (isEmpty: boolean) => void;
  readonly #messages: Buffer[] = [];
  #isOver = false;
  #wake: (() => void) | undefined;

  /** @param onEmpty called whenever the queue becomes empty or is no longer empty */
  constructor(onEmpty: (isEmpty: boolean) => void) {
    this.#onEmpty = onEmpty;
  }

  push(message: Buffer): void {
    if (this.#messages.push(message) === 1) this.#onEmpty(false);
    this.#wake?.();
  }

  /** No more messages come: the client has ended its stream, or is gone. */
  end(): void {
    this.#isOver = true;
    this.#wake?.();
  }

  /** Yields the messages in order until the queue ends. */
  async *taken(): AsyncIterable<Buffer> {
    for (;;) {
      const message = this.#messages.shift();
      if (message) {
        if (this.#messages.length === 0) this.#onEmpty(true);
        yield message;
      } else if (this.#isOver) return;
      else await new Promise<void>((resolve) => (this.#wake = resolve));
    }
  }
}
