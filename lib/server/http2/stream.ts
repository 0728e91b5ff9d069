import type { RecurringHeaders } from './header-encoder.js';
import { initialWindow } from './frames.js';
import type { Header } from './static-table.js';

/** The request of a stream. */
export interface StreamRequest {
  readonly method: string;
  readonly path: string;
  readonly authority: string | undefined;
  /** Headers other than pseudo-headers. */
  readonly headers: readonly Header[];
}

/** Receives the events of a stream. */
export interface StreamEvents {
  /** Data arrived. The bytes are valid only during the call; they are credited by the stream's methods. */
  onData(bytes: Buffer): void;
  /** The client has sent everything. */
  onEnd(): void;
  /** The stream is over for both sides, or the connection is. */
  onClose(): void;
}

/** The connection of a stream. */
export interface StreamCarrier {
  sendHeaders(stream: Http2Stream, block: StreamHeaders, isEnd: boolean): void;
  /** Sends the queue of a stream when its windows allow. */
  ready(stream: Http2Stream): void;
  reset(stream: Http2Stream, code: number): void;
  /** Enlarges the window of the connection. */
  trust(): void;
  creditConnection(bytes: number): void;
  creditStream(stream: Http2Stream, bytes: number): void;
}

/** Headers of an answer. */
export interface StreamHeaders {
  readonly recurring: RecurringHeaders;
  readonly others?: readonly Header[];
}

interface Queued {
  readonly bytes: Buffer;
  readonly written: (() => void) | undefined;
}

/** One call of a connection. What is written waits until the windows of the client allow it. */
export class Http2Stream {
  readonly id: number;
  readonly #carrier: StreamCarrier;
  events: StreamEvents | undefined;
  /** Bytes that may be sent; negative after the client has reduced its window. */
  sendWindow: number;
  /** Bytes that the client may send. */
  receiveWindow: number = initialWindow;
  /** Bytes that were received and not yet credited to the connection, and to the stream. */
  held = 0;
  uncredited = 0;
  /** Whether the client has sent everything. */
  remoteEnded = false;
  closed = false;
  /** Whether the stream waits for its turn to send. */
  isQueued = false;
  #queue: Queued[] = [];
  /** Sent bytes of the first of the queue. */
  #sent = 0;
  #queuedBytes = 0;
  #trailers: StreamHeaders | undefined;
  /** Whether data was sent since {@link isStalled} was read. */
  #hasMoved = true;

  constructor(id: number, sendWindow: number, carrier: StreamCarrier) {
    this.id = id;
    this.sendWindow = sendWindow;
    this.#carrier = carrier;
  }

  /** The connection, which is the same for its streams. */
  get connection(): object {
    return this.#carrier;
  }

  /** Bytes that wait to be sent. */
  get queuedBytes(): number {
    return this.#queuedBytes;
  }

  /** The headers that end the answer, once all data was sent; undefined before. */
  get finalHeaders(): StreamHeaders | undefined {
    return this.#queuedBytes === 0 ? this.#trailers : undefined;
  }

  /** Whether the answer is complete, and nothing of it could be sent since this was read before. */
  get isStalled(): boolean {
    const isStalled = this.#trailers !== undefined && !this.#hasMoved;
    this.#hasMoved = this.#trailers === undefined;
    return isStalled;
  }

  /** Sends headers at once; with `isEnd` they are the whole answer. */
  respond(headers: StreamHeaders, isEnd = false): void {
    if (!this.closed) this.#carrier.sendHeaders(this, headers, isEnd);
  }

  /** Sends data. The bytes must not change any more. `written` is called when the socket has taken all of them. */
  write(bytes: Buffer, written?: () => void): void {
    if (this.closed || this.#trailers) return;
    this.#queue.push({ bytes, written });
    this.#queuedBytes += bytes.length;
    this.#carrier.ready(this);
  }

  /** Ends the answer with headers, after the data. */
  end(trailers: StreamHeaders): void {
    if (this.closed || this.#trailers) return;
    this.#trailers = trailers;
    this.#carrier.ready(this);
  }

  /** Drops all data that was not sent. */
  drop(): void {
    this.#queue = [];
    this.#queuedBytes = 0;
    this.#sent = 0;
  }

  /** Ends the stream without an answer. */
  reset(code: number): void {
    if (!this.closed) this.#carrier.reset(this, code);
  }

  /** Enlarges the window of the connection, because a caller of it was authenticated. */
  trust(): void {
    this.#carrier.trust();
  }

  /**
   * Allows the client to send this many bytes more over its connection: they were received by this stream. Bytes that
   * were credited when the stream was closed are not credited again.
   */
  creditConnection(bytes: number): void {
    const credited = Math.min(bytes, this.held);
    this.held -= credited;
    if (credited > 0) this.#carrier.creditConnection(credited);
  }

  /** Allows the client to send this many bytes more over this stream. */
  creditStream(bytes: number): void {
    if (!this.closed && !this.remoteEnded) this.#carrier.creditStream(this, bytes);
  }

  /**
   * Takes bytes from the queue: exactly `length`, which must be queued. The functions to call once they are written are
   * added to `written`.
   */
  take(length: number, parts: Buffer[], written: (() => void)[]): void {
    this.#queuedBytes -= length;
    this.#hasMoved = true;
    let left = length;
    let finished = 0;
    for (const { bytes, written: callback } of this.#queue) {
      const rest = bytes.length - this.#sent;
      if (rest > left) {
        if (left > 0) parts.push(bytes.subarray(this.#sent, this.#sent + left));
        this.#sent += left;
        break;
      }
      parts.push(this.#sent === 0 ? bytes : bytes.subarray(this.#sent));
      if (callback) written.push(callback);
      left -= rest;
      this.#sent = 0;
      finished += 1;
    }
    if (finished === this.#queue.length) this.#queue = [];
    else if (finished > 0) this.#queue.splice(0, finished);
  }
}
