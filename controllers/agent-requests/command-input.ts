import type { ExecProcess } from '../agent/index.js';

/** Maximum input that waits for a command while further messages are read, bytes. */
const waitingBytesMax = 1_048_576;

/**
 * The standard input of a command. Input that the command does not read waits here, so that the messages after it are
 * read: a signal must reach a command that never reads its input.
 */
export class CommandInput {
  readonly #command: Pick<ExecProcess, 'write' | 'closeInput'>;
  readonly #waiting: Buffer[] = [];
  #waitingBytes = 0;
  #isWriting = false;
  #isClosed = false;
  #failure: Error | undefined;
  #onTaken: () => void = () => undefined;

  constructor(command: Pick<ExecProcess, 'write' | 'closeInput'>) {
    this.#command = command;
  }

  /**
   * Passes input on, in order. Resolves when more is accepted: at once, unless more than 1 MiB waits.
   * @throws the error of a write of the command
   */
  async write(data: Buffer): Promise<void> {
    this.#waiting.push(data);
    this.#waitingBytes += data.length;
    if (!this.#isWriting) void this.#writeWaiting();
    while (this.#failure === undefined && this.#waitingBytes > waitingBytesMax)
      await new Promise<void>((resolve) => {
        this.#onTaken = resolve;
      });
    if (this.#failure !== undefined) throw this.#failure;
  }

  /** Closes the input of the command after the input that waits. */
  close(): void {
    this.#isClosed = true;
    if (!this.#isWriting) this.#command.closeInput();
  }

  async #writeWaiting(): Promise<void> {
    this.#isWriting = true;
    try {
      for (let next = this.#waiting.shift(); next; next = this.#waiting.shift()) {
        await this.#command.write(next);
        this.#waitingBytes -= next.length;
        this.#onTaken();
      }
    } catch (error) {
      // The next write throws it.
      this.#failure = error instanceof Error ? error : new Error(String(error));
    }
    this.#isWriting = false;
    this.#onTaken();
    if (this.#isClosed) this.#command.closeInput();
  }
}
