import type { ServerResponse } from 'node:http';
import { PacedWrites, type WaitingBytes } from '../transport/paced-writes.js';

/**
 * Writes a response in pieces, and waits while the client does not read. Its buffered bytes count in the common
 * budget of all readers of the server. Above the budget the reader that has blocked longest is disconnected, because
 * a response that has started can signal an incomplete body in no other way.
 */
export class StreamWriter implements Disposable {
  readonly #writes: PacedWrites;

  constructor(response: ServerResponse, signal: AbortSignal, waiting: WaitingBytes) {
    const write = (message: Buffer, written: () => void): void => {
      if (!response.destroyed) response.write(message, written);
      else written();
    };
    const cut = (): void => void response.destroy();
    this.#writes = new PacedWrites({ write, cut }, signal, waiting);
  }

  /** Whether no more can be written. */
  get over(): boolean {
    return this.#writes.over;
  }

  /** Whether the client must read before more can be written. */
  get full(): boolean {
    return this.#writes.full;
  }

  /** Resolves when the next piece can be written, or when no more can be written at all. */
  async write(text: Buffer): Promise<void> {
    if (!this.over) await this.#writes.write(text);
  }

  [Symbol.dispose](): void {
    this.#writes[Symbol.dispose]();
  }
}
