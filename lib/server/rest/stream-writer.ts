import type { ServerResponse } from 'node:http';
import { PacedWrites, type WaitingBytes } from '../transport/paced-writes.js';

/**
 * Writes a response piece by piece, waiting whenever the client does not read. What it keeps counts with what
 * waits for all readers of the server: the one that has kept the server waiting longest loses its connection,
 * because a response that has started can signal an incomplete body in no other way.
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

  /** Whether nothing can be written any more. */
  get over(): boolean {
    return this.#writes.over;
  }

  /** Whether the client has still to read before there is room. */
  get full(): boolean {
    return this.#writes.full;
  }

  /** Resolves when there is room for the next piece, or nothing can be written any more. */
  async write(text: string): Promise<void> {
    if (!this.over) await this.#writes.write(Buffer.from(text));
  }

  [Symbol.dispose](): void {
    this.#writes[Symbol.dispose]();
  }
}
