import { ConnectionError, errorCodes, initialWindow, windowMax } from './frames.js';
import { Http2Stream, type StreamCarrier } from './stream.js';

/** The open streams of a connection, by their number. */
export class Streams {
  readonly #carrier: StreamCarrier;
  readonly #open = new Map<number, Http2Stream>();
  #lastBegun = 0;
  #lastTaken = 0;
  /** The window with which streams begin to send. */
  #sendWindow = initialWindow;

  constructor(carrier: StreamCarrier) {
    this.#carrier = carrier;
  }

  get size(): number {
    return this.#open.size;
  }

  /** The last stream that was taken; later ones were not processed. */
  get lastTaken(): number {
    return this.#lastTaken;
  }

  get(id: number): Http2Stream | undefined {
    return this.#open.get(id);
  }

  /** The open streams at present. */
  all(): readonly Http2Stream[] {
    return [...this.#open.values()];
  }

  /**
   * Notes that the client begins a stream. Returns false if it began this stream or a later one before.
   * @throws ConnectionError for a number that a client must not use
   */
  begin(id: number): boolean {
    if (id % 2 === 0)
      throw new ConnectionError(errorCodes.protocol, 'a client begins a stream of the server');
    if (id <= this.#lastBegun) return false;
    this.#lastBegun = id;
    return true;
  }

  /** Opens a stream that was begun. */
  take(id: number, isEnd: boolean): Http2Stream {
    const stream = new Http2Stream(id, this.#sendWindow, this.#carrier);
    stream.remoteEnded = isEnd;
    this.#lastTaken = id;
    this.#open.set(id, stream);
    return stream;
  }

  /** The streams whose complete answer was not read at all since the last call. */
  stalled(): readonly Http2Stream[] {
    return this.all().filter((stream) => stream.isStalled);
  }

  delete(stream: Http2Stream): void {
    this.#open.delete(stream.id);
  }

  /** The stream with this number; undefined if it is over. @throws ConnectionError if the client has not begun it */
  begun(id: number): Http2Stream | undefined {
    if (id > this.#lastBegun || id % 2 === 0)
      throw new ConnectionError(errorCodes.protocol, 'a frame of a stream that was not begun');
    return this.#open.get(id);
  }

  /**
   * Changes the window with which streams begin to send, also for open streams.
   * @throws ConnectionError if a window becomes too large
   */
  resize(sendWindow: number): void {
    const change = sendWindow - this.#sendWindow;
    this.#sendWindow = sendWindow;
    for (const stream of this.#open.values()) {
      stream.sendWindow += change;
      if (stream.sendWindow > windowMax)
        throw new ConnectionError(errorCodes.flowControl, 'a window is too large');
      if (stream.queuedBytes > 0) this.#carrier.ready(stream);
    }
  }
}
