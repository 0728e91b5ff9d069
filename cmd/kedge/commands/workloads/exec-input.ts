import type { Readable } from 'node:stream';
import type { JsonObject } from 'kedge/rpc';

/** Maximum number of waiting messages. Those of standard input have 64 KiB each. */
const waitingMax = 16;

/**
 * Messages for the server: standard input and sizes in their order, signals before the standard input that waits, because
 * the command may not read it.
 */
export class ExecInput {
  readonly #waiting: JsonObject[] = [];
  #wake: () => void = () => undefined;
  #onTaken: () => void = () => undefined;
  #ended = false;

  push(message: JsonObject): void {
    this.#waiting.push(message);
    this.#wake();
  }

  /** Adds a signal before the standard input that waits. */
  signal(name: NodeJS.Signals): void {
    const at = this.#waiting.findIndex((waiting) => 'stdin' in waiting);
    this.#waiting.splice(at === -1 ? this.#waiting.length : at, 0, { signal: name });
    this.#wake();
  }

  /**
   * Passes a stream on as the standard input of the command, as fast as messages are taken: the stream may be larger than
   * the memory. Returns the function that stops it.
   */
  from(stdin: Readable): () => void {
    const onData = (data: Buffer): void => {
      this.push({ stdin: data.toString('base64') });
      if (this.#waiting.length >= waitingMax) stdin.pause();
    };
    const onEnd = (): void => this.push({ stdinClosed: true });
    this.#onTaken = () => {
      if (stdin.isPaused() && this.#waiting.length < waitingMax) stdin.resume();
    };
    stdin.on('data', onData);
    stdin.on('end', onEnd);
    return () => {
      this.#onTaken = () => undefined;
      stdin.off('data', onData);
      stdin.off('end', onEnd);
    };
  }

  /** Ends {@link messages} after those that wait. */
  end(): void {
    this.#ended = true;
    this.#wake();
  }

  async *messages(): AsyncIterable<JsonObject> {
    for (;;) {
      const next = this.#waiting.shift();
      if (next) {
        this.#onTaken();
        yield next;
      } else if (this.#ended) return;
      else
        await new Promise<void>((resolve) => {
          this.#wake = resolve;
        });
    }
  }
}
