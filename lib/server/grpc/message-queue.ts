import { StatusError } from '../../base/index.js';

/** The messages of a client stream, which its handler takes one at a time. */
export class MessageQueue {
  readonly #onEmpty: (isEmpty: boolean) => void;
  readonly #messages: Buffer[] = [];
  #isOver = false;
  #isAbandoned = false;
  #wake: (() => void) | undefined;

  /** @param onEmpty called whenever the queue becomes empty or is no longer empty */
  constructor(onEmpty: (isEmpty: boolean) => void) {
    this.#onEmpty = onEmpty;
  }

  push(message: Buffer): void {
    if (this.#messages.push(message) === 1) this.#onEmpty(false);
    this.#wake?.();
  }

  /** Ends the queue after the messages that were pushed. */
  end(): void {
    this.#isOver = true;
    this.#wake?.();
  }

  /**
   * Ends the queue because the call is over. If the client has not ended its stream, {@link taken} throws, and the
   * remaining messages are dropped.
   */
  abandon(): void {
    this.#isAbandoned = !this.#isOver;
    this.end();
  }

  /**
   * Yields the messages in order until the queue ends.
   * @throws StatusError Cancelled once the call is over, if the client has not ended its stream
   */
  async *taken(): AsyncIterable<Buffer> {
    for (;;) {
      if (this.#isAbandoned)
        throw new StatusError({
          code: 'Cancelled',
          reason: 'Aborted',
          message: 'the caller disconnected before the end of its messages',
        });
      const message = this.#messages.shift();
      if (message) {
        if (this.#messages.length === 0) this.#onEmpty(true);
        yield message;
      } else if (this.#isOver) return;
      else await new Promise<void>((resolve) => (this.#wake = resolve));
    }
  }
}
