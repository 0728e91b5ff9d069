import { type Clock, limits, statusCodes, type Timer } from '../../base/index.js';
import { errorCodes } from '../http2/frames.js';
import { GrowingBytes } from '../http2/growing-bytes.js';
import { ReadTurns } from '../http2/read-pace.js';
import type { Header } from '../http2/static-table.js';
import type { Http2Stream, StreamEvents, StreamRequest } from '../http2/stream.js';
import type { SentStatus } from './errors.js';
import { answerHeaders, okTrailers, statusHeaders, timeoutMs } from './headers.js';
import { headBytes, type MessageEvents, MessageReader } from './messages.js';

/** Messages up to this length are copied behind their head; longer ones are sent as they are. */
const copiedBytesMax = 4_096;
/** Maximum characters of a header that an error quotes: the headers of an answer must fit into one frame. */
const quotedMax = 64;

/** Receives the requests of a call. */
export interface RequestEvents {
  message(bytes: Buffer): void;
  end(): void;
}

/**
 * A call of gRPC on its stream. Nothing of its requests is read before {@link open}; what arrives is bounded by the
 * window of the stream until then.
 */
export class GrpcCall implements StreamEvents {
  readonly path: string;
  readonly headers: readonly Header[];
  readonly authority: string | undefined;
  readonly #stream: Http2Stream;
  readonly #method: string;
  readonly #held = new GrowingBytes();
  #whenOver: (() => void)[] = [];
  #reader: MessageReader | undefined;
  #hasEnded = false;
  #hasAnswered = false;
  #isFinished = false;
  #deadline: Timer | undefined;
  /** Whether received bytes are credited to the stream, and those that wait for it. */
  #isFlowing = true;
  #withheld = 0;

  constructor(stream: Http2Stream, request: StreamRequest) {
    this.#stream = stream;
    this.#method = request.method;
    this.path = request.path;
    this.headers = request.headers;
    this.authority = request.authority ?? this.header('host');
    stream.events = this;
  }

  /** Whether the answer is complete, or the client is gone. */
  get isOver(): boolean {
    return this.#isFinished || this.#stream.closed;
  }

  /** Whether the client has sent everything. */
  get hasArrived(): boolean {
    return this.#hasEnded;
  }

  /** The first header with a name; undefined without one. */
  header(name: string): string | undefined {
    for (const header of this.headers) if (header[0] === name) return header[1];
    return undefined;
  }

  /** Calls `callback` when the stream is over: after the answer, or when it was cut, or the client is gone. */
  whenOver(callback: () => void): void {
    if (this.#stream.closed) callback();
    else this.#whenOver.push(callback);
  }

  /**
   * Checks the form of the request, and starts its deadline.
   * @returns false if the call was answered
   */
  begin(clock: Clock): boolean {
    const refuse = (status: string): false => {
      this.#isFinished = true;
      this.#stream.respond({ recurring: [], others: [[':status', status]] }, true);
      return false;
    };
    if (this.#method !== 'POST') return refuse('405');
    if (!this.header('content-type')?.startsWith('application/grpc')) return refuse('415');
    const timeout = this.header('grpc-timeout');
    if (timeout === undefined) return true;
    const leftMs = timeoutMs(timeout);
    if (leftMs === undefined) {
      const message = `Invalid grpc-timeout value "${timeout.slice(0, quotedMax)}"`;
      this.finish({ code: statusCodes.Internal, message });
      return false;
    }
    // Thousands of calls may have the same deadline.
    const due = (): void => void ReadTurns.ofEnds(clock).run(() => this.#late());
    this.#deadline = clock.setTimer(due, leftMs, { background: true });
    return true;
  }

  /** Enlarges the window of the connection, because a caller of it was authenticated. */
  trust(): void {
    this.#stream.trust();
  }

  /** Starts to read requests. */
  open(events: RequestEvents): void {
    if (this.isOver) return;
    const encoding = this.header('grpc-encoding')?.slice(0, quotedMax) ?? 'identity';
    const received: MessageEvents = {
      // A message that was decompressed meanwhile must not begin what was answered or cancelled.
      message: (bytes) => {
        if (!this.isOver) events.message(bytes);
      },
      end: () => {
        if (!this.isOver) events.end();
      },
      ready: () => this.#credit(),
      fail: (status) => this.finish(status),
    };
    const { connection } = this.#stream;
    this.#reader = new MessageReader(limits.requestBytesMax, encoding, received, connection);
    this.#reader.paused = !this.#isFlowing;
    if (this.#held.length > 0) this.#read(this.#held.take());
    if (this.#hasEnded) this.#reader.end();
  }

  /** Whether the client may send more; false while its messages wait for their handler. */
  set flowing(isFlowing: boolean) {
    this.#isFlowing = isFlowing;
    if (this.#reader) this.#reader.paused = !isFlowing;
    this.#credit();
  }

  /** Sends a message. The bytes must not change any more. `written` is called when the socket has taken it. */
  write(message: Buffer, written?: () => void): void {
    if (this.isOver) return;
    if (!this.#hasAnswered) this.#stream.respond(answerHeaders);
    this.#hasAnswered = true;
    const { length } = message;
    const isCopied = length <= copiedBytesMax;
    const bytes = Buffer.allocUnsafe(isCopied ? headBytes + length : headBytes);
    bytes[0] = 0;
    bytes.writeUInt32BE(length, 1);
    if (isCopied) {
      message.copy(bytes, headBytes);
      this.#stream.write(bytes, written);
    } else {
      this.#stream.write(bytes);
      this.#stream.write(message, written);
    }
  }

  /** Ends a successful answer. */
  end(): void {
    if (this.isOver) return;
    if (!this.#hasAnswered) this.#stream.respond(answerHeaders);
    this.#isFinished = true;
    this.#stream.end(okTrailers);
  }

  /** Ends the answer with a status. */
  finish(status: SentStatus): void {
    if (this.isOver) return;
    this.#isFinished = true;
    if (this.#hasAnswered) this.#stream.end(statusHeaders(status, false));
    else this.#stream.respond(statusHeaders(status, true), true);
  }

  /** Ends the answer with a status, and drops messages that were not sent. */
  cut(status: SentStatus): void {
    if (!this.isOver) this.#stream.drop();
    this.finish(status);
    // The status may wait for a socket that is not read.
    this.#over();
  }

  /** Resets the stream; the unsent part of the answer is dropped. */
  drop(): void {
    this.#stream.reset(errorCodes.enhanceYourCalm);
  }

  onData(bytes: Buffer): void {
    // Credited at once: other calls of the connection must not wait until the answer was read.
    if (this.#isFinished) return this.#stream.creditConnection(bytes.length);
    if (this.#reader) this.#read(bytes);
    else this.#held.append(bytes);
  }

  onEnd(): void {
    this.#hasEnded = true;
    this.#reader?.end();
  }

  onClose(): void {
    this.#deadline?.cancel();
    this.#held.take();
    this.#over();
  }

  #over(): void {
    this.#reader?.stop();
    const callbacks = this.#whenOver;
    this.#whenOver = [];
    for (const callback of callbacks) callback();
  }

  #read(bytes: Buffer): void {
    this.#reader?.read(bytes);
    this.#stream.creditConnection(bytes.length);
    this.#withheld += bytes.length;
    this.#credit();
  }

  #credit(): void {
    if (this.#withheld === 0 || !this.#isFlowing || this.#reader?.isBusy) return;
    this.#stream.creditStream(this.#withheld);
    this.#withheld = 0;
  }

  #late(): void {
    // An answer that the client does not read ends with its deadline too.
    if (this.#isFinished) this.#stream.reset(errorCodes.cancel);
    else this.cut({ code: statusCodes.DeadlineExceeded, message: 'Deadline exceeded' });
  }
}
