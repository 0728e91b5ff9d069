import { StatusError } from '../../base/index.js';

/** The destination of messages: a stream of gRPC, or a response of REST. */
export interface MessageSink {
  write(message: Buffer, written: () => void): unknown;
  /** Ends the stream at once and frees its buffered data. */
  cut(why: StatusError): void;
}

/** Maximum bytes and maximum messages that are buffered for one reader. One more message may exceed them. */
const waitingBytesMax = 65_536;
const waitingMessagesMax = 16;
/** Maximum bytes that are buffered for all readers of a server, over both transports. */
const allBytesMax = 134_217_728;

/**
 * The buffered messages of all readers of a server. Beyond the limit, the readers that wait longest are disconnected.
 */
export class WaitingBytes {
  readonly #max: number;
  /** The waiting streams, longest wait first. */
  readonly #waiting = new Set<PacedWrites>();
  #bytes = 0;

  constructor(max = allBytesMax) {
    this.#max = max;
  }

  /** Counts buffered bytes, and cuts waiting streams while there are too many. */
  add(bytes: number): void {
    this.#bytes += bytes;
    for (const writes of this.#waiting) {
      if (this.#bytes <= this.#max) return;
      writes.cut();
    }
  }

  /** Removes bytes that were written or dropped from the count. */
  remove(bytes: number): void {
    this.#bytes -= bytes;
  }

  /** Registers a stream that waits for its reader. */
  begin(writes: PacedWrites): void {
    this.#waiting.add(writes);
  }

  /** Removes a stream that no longer waits. */
  end(writes: PacedWrites): void {
    this.#waiting.delete(writes);
  }
}

/**
 * Messages to a reader that may not read. A gRPC stream counts only messages before it reports that it is full, and
 * each may have megabytes, so bytes are counted too.
 */
export class PacedWrites {
  readonly #sink: MessageSink;
  readonly #signal: AbortSignal;
  readonly #all: WaitingBytes;
  #bytes = 0;
  #messages = 0;
  #over = false;
  #wake: () => void = () => undefined;
  /** The promise that all writers wait for while the stream is full; undefined otherwise. */
  #waiting: Promise<void> | undefined;

  constructor(sink: MessageSink, signal: AbortSignal, all: WaitingBytes) {
    this.#sink = sink;
    this.#signal = signal;
    this.#all = all;
  }

  /** Whether no more can be written. */
  get over(): boolean {
    return this.#over || this.#signal.aborted;
  }

  /** Whether the reader must read before more can be written. */
  get full(): boolean {
    return this.#waiting !== undefined;
  }

  /** Resolves when the next message can be written, the stream was cut, or the signal aborts. */
  async write(message: Buffer): Promise<void> {
    const { length } = message;
    if (this.#over) return;
    this.#bytes += length;
    this.#messages += 1;
    this.#all.add(length);
    this.#sink.write(message, () => {
      if (this.#over) return;
      this.#bytes -= length;
      this.#messages -= 1;
      this.#all.remove(length);
      if (!this.#full) this.#wake();
    });
    if (this.#full) await (this.#waiting ??= this.#room());
  }

  /** Ends the stream, to free the memory of its buffered messages. */
  cut(): void {
    this[Symbol.dispose]();
    this.#sink.cut(
      new StatusError({
        code: 'ResourceExhausted',
        reason: 'SlowReader',
        message:
          'the stream was not read while other streams needed its memory; resume it and keep reading',
        retryAfterMs: 1_000,
      }),
    );
  }

  [Symbol.dispose](): void {
    if (this.#over) return;
    this.#over = true;
    this.#all.remove(this.#bytes);
    this.#all.end(this);
    this.#wake();
  }

  get #full(): boolean {
    return this.#bytes > waitingBytesMax || this.#messages >= waitingMessagesMax;
  }

  async #room(): Promise<void> {
    const signal = this.#signal;
    this.#all.begin(this);
    await new Promise<void>((resolve) => {
      this.#wake = (): void => {
        signal.removeEventListener('abort', this.#wake);
        this.#wake = () => undefined;
        resolve();
      };
      signal.addEventListener('abort', this.#wake, { once: true });
      if (signal.aborted || this.#over) this.#wake();
    });
    this.#all.end(this);
    this.#waiting = undefined;
  }
}
