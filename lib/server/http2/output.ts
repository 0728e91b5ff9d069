import type { Socket } from 'node:net';
import type { Clock } from '../../base/index.js';
import type { Budget } from './budget.js';
import {
  ConnectionError,
  errorCodes,
  frameBytesMax,
  frameHeadBytes,
  frameTypes,
  initialWindow,
  windowMax,
  writeHead,
} from './frames.js';
import type { Http2Stream } from './stream.js';

/** Data is handed to the socket while it holds fewer bytes than this. */
const dataBytesMax = 262_144;
/** A connection is not read while its socket holds more bytes than this: its answers are not read either. */
const backlogBytesMax = 524_288;
/** Maximum answers to frames such as PING that wait to be written. */
const repliesMax = 1_000;
/**
 * Frames that a client may send for each frame of data: updates of both windows for every 4 KiB of it, and a ping that
 * measures the connection.
 */
const answersToData = 10;
/**
 * Bytes of data for each of these frames if a window of the client ends the data: such a window is made by a frame. A
 * client whose windows have 32 bytes may enlarge both of them for each frame of data.
 */
const bytesPerAnswer = 16;

/** The frames that a connection sends. Those of one turn of the event loop are written together. */
export class Output {
  readonly #socket: Socket;
  readonly #clock: Pick<Clock, 'defer'>;
  readonly #sendEnd: (stream: Http2Stream) => void;
  readonly #answers: Budget;
  /** Bytes of data that the client accepts over the connection. */
  #window: number = initialWindow;
  #parts: Buffer[] = [];
  #bytes = 0;
  /** Answers to frames that are not written yet. */
  #replies = 0;
  /** The number of them that were not handed to the socket. */
  #newReplies = 0;
  #isDue = false;
  /** Streams that may have something to send; the first is next. */
  readonly #ready: Http2Stream[] = [];
  #ended = false;
  /** Whether the client reads its answers too slowly for more of its calls to be read. */
  isBacklogged = false;

  /**
   * @param sendEnd sends the last headers of a stream
   * @param answers the budget of frames with which the client may answer data
   */
  constructor(
    socket: Socket,
    clock: Pick<Clock, 'defer'>,
    sendEnd: (stream: Http2Stream) => void,
    answers: Budget,
  ) {
    this.#socket = socket;
    this.#clock = clock;
    this.#sendEnd = sendEnd;
    this.#answers = answers;
    socket.on('drain', () => {
      this.isBacklogged = false;
      if (socket.isPaused()) socket.resume();
      this.#later();
    });
  }

  /** Sends a frame other than DATA. */
  push(frame: Buffer): void {
    if (this.#ended) return;
    this.#parts.push(frame);
    this.#bytes += frame.length;
    this.#later();
  }

  /**
   * Sends the answer to a frame that any client may send at any rate.
   * @throws ConnectionError if too many wait
   */
  reply(frame: Buffer): void {
    this.#replies += 1;
    this.#newReplies += 1;
    if (this.#replies > repliesMax)
      throw new ConnectionError(errorCodes.enhanceYourCalm, 'too many frames to answer');
    this.push(frame);
  }

  /** Gives a stream its turn. */
  ready(stream: Http2Stream): void {
    if (!stream.isQueued) {
      stream.isQueued = true;
      this.#ready.push(stream);
    }
    this.#later();
  }

  /**
   * Enlarges the window of the connection, and gives waiting streams their turn.
   * @throws ConnectionError if it becomes too large, or no larger
   */
  enlarge(bytes: number): void {
    if (bytes === 0) throw new ConnectionError(errorCodes.protocol, 'a window is not enlarged');
    this.#window += bytes;
    if (this.#window > windowMax)
      throw new ConnectionError(errorCodes.flowControl, 'the window is too large');
    this.#proceed();
  }

  #proceed(): void {
    if (this.#ready.length > 0) this.#later();
  }

  /** Writes what was pushed, and ends the sending side. Data of streams is not sent any more. */
  end(): void {
    if (this.#ended) return;
    this.#ready.length = 0;
    this.#flush();
    this.#ended = true;
    this.#socket.end();
  }

  #later(): void {
    if (this.#isDue || this.#ended) return;
    this.#isDue = true;
    this.#clock.defer(() => {
      this.#flush();
      this.#isDue = false;
    });
  }

  #flush(): void {
    const socket = this.#socket;
    if (this.#ended || socket.destroyed) return;
    const written: (() => void)[] = [];
    const room = dataBytesMax - socket.writableLength;
    while (this.#bytes < room && this.#serve(written)) continue;
    const parts = this.#parts;
    if (parts.length === 0) return;
    const replies = this.#newReplies;
    this.#newReplies = 0;
    const bytes = parts.length === 1 ? parts[0] : Buffer.concat(parts, this.#bytes);
    this.#parts = [];
    this.#bytes = 0;
    socket.write(bytes ?? '', (error) => {
      if (error) return;
      this.#replies -= replies;
      for (const callback of written) callback();
      this.#proceed();
    });
    this.isBacklogged ||= socket.writableLength > backlogBytesMax;
    if (this.isBacklogged) socket.pause();
  }

  /** Sends one frame of the next stream. Returns false if none can send. */
  #serve(written: (() => void)[]): boolean {
    for (let turns = this.#ready.length; turns > 0; turns -= 1) {
      const stream = this.#ready.shift();
      if (!stream) return false;
      stream.isQueued = false;
      if (stream.closed) continue;
      const length = Math.min(
        stream.queuedBytes,
        stream.sendWindow,
        Math.max(0, this.#window),
        frameBytesMax,
      );
      if (length > 0) this.#data(stream, length, written);
      if (stream.finalHeaders) this.#sendEnd(stream);
      else if (stream.queuedBytes > 0 && stream.sendWindow > 0) {
        stream.isQueued = true;
        this.#ready.push(stream);
      }
      if (length > 0 || stream.closed) return true;
    }
    return false;
  }

  #data(stream: Http2Stream, length: number, written: (() => void)[]): void {
    const head = Buffer.allocUnsafe(frameHeadBytes);
    writeHead(head, length, frameTypes.data, 0, stream.id);
    this.#parts.push(head);
    const isRest = length === stream.queuedBytes;
    this.#answers.allow(isRest ? answersToData : Math.min(answersToData, length / bytesPerAnswer));
    stream.take(length, this.#parts, written);
    this.#bytes += frameHeadBytes + length;
    stream.sendWindow -= length;
    this.#window -= length;
  }
}
