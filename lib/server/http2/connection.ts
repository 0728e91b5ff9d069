import type { Socket } from 'node:net';
import type { Clock } from '../../base/index.js';
import { Budget } from './budget.js';
import { ConnectionLife } from './connection-life.js';
import { clientSettings, requireLength, requirePlace } from './frame-checks.js';
import { FrameReader } from './frame-reader.js';
import {
  ConnectionError,
  errorCodes,
  frame,
  frameFlags as flag,
  frameTypes as types,
  headerFlags,
  initialWindow,
  numbersFrame,
  settingIds,
  settingsFrame,
  windowMax,
} from './frames.js';
import { HeaderBlocks, unpadded } from './header-blocks.js';
import { type DecodedHeaders, headerBytesMax } from './header-decoder.js';
import { HeaderEncoder } from './header-encoder.js';
import { Output } from './output.js';
import { ReadPace, ReadTurns } from './read-pace.js';
import { ReceiveWindow } from './receive-window.js';
import { requestOf } from './request-headers.js';
import type { Http2Stream, StreamCarrier, StreamHeaders, StreamRequest } from './stream.js';
import { Streams } from './streams.js';

/** Options of {@link Http2Connection}. */
export interface Http2ConnectionOptions {
  readonly clock: Clock;
  /** Maximum concurrent streams. */
  readonly streamsMax: number;
  /** Interval of pings; a client that sends nothing between one and the next is disconnected. */
  readonly keepaliveMs: number;
  /** Time after which a connection without streams is closed, and an answer that is not read is ended, milliseconds. */
  readonly idleMs: number;
  /** Takes a new stream, whose `events` it sets. */
  accept(stream: Http2Stream, request: StreamRequest): void;
  /** Called once or twice: when the client has ended its side, and when the socket is closed; after all streams. */
  closed(): void;
  /** Called when the connection ends because of an error that its client did not cause. */
  broken(error: unknown): void;
}

/**
 * The server's side of an HTTP/2 connection (RFC 9113), for calls of gRPC: without push and priorities. The memory that
 * a client can occupy is bounded by the windows, {@link headerBytesMax}, the number of streams, and the limits of
 * {@link Output}.
 */
export class Http2Connection implements StreamCarrier {
  readonly #options: Http2ConnectionOptions;
  readonly #output: Output;
  readonly #life: ConnectionLife;
  readonly #window: ReceiveWindow;
  readonly #blocks = new HeaderBlocks((...given) => this.#headers(...given));
  readonly #encoder = new HeaderEncoder();
  readonly #streams = new Streams(this);
  readonly #resets: Budget;
  readonly #oddities: Budget;
  readonly #answers: Budget;
  #hasSettings = false;

  constructor(socket: Socket, options: Http2ConnectionOptions) {
    const { clock, streamsMax } = options;
    this.#options = options;
    this.#resets = new Budget(clock, 'resets of streams');
    this.#oddities = new Budget(clock, 'SETTINGS, GOAWAY and frames without effect');
    this.#answers = new Budget(clock, 'WINDOW_UPDATE and PING frames for the data that was sent');
    this.#output = new Output(socket, clock, (stream) => this.#sendEnd(stream), this.#answers);
    this.#window = new ReceiveWindow((update) => this.#output.push(update));
    this.#life = new ConnectionLife(socket, this.#output, {
      ...options,
      streams: this.#streams,
      closed: () => this.#closeAll().run(() => options.closed()),
    });
    const settings = settingsFrame([
      [settingIds.maxConcurrentStreams, streamsMax],
      [settingIds.maxHeaderListSize, headerBytesMax],
    ]);
    this.#output.push(settings);
    const reader = new FrameReader((...given) => this.#frame(...given));
    const pace = new ReadPace(socket, this.#output, clock, (chunk) => {
      if (this.#life.isOver) return;
      try {
        reader.read(chunk);
      } catch (error) {
        this.#fail(error);
      }
    });
    socket.on('data', (chunk: Buffer) => {
      if (!this.#life.isOver) pace.read(chunk);
    });
  }

  /** Lets streams finish, accepts no others, and closes the connection then. */
  drain(): void {
    this.#life.drain();
  }

  /** Enlarges the window of the connection, because a caller of it was authenticated. */
  trust(): void {
    this.#window.trust();
  }

  sendHeaders(stream: Http2Stream, headers: StreamHeaders, isEnd: boolean): void {
    const block = this.#encoder.encode(headers.recurring, headers.others);
    this.#output.push(frame(types.headers, headerFlags(isEnd), stream.id, block));
    if (isEnd) this.#sent(stream);
  }

  ready(stream: Http2Stream): void {
    this.#output.ready(stream);
  }

  reset(stream: Http2Stream, code: number): void {
    this.#output.push(numbersFrame(types.reset, stream.id, code));
    this.#close(stream);
  }

  creditConnection(bytes: number): void {
    this.#window.credit(bytes);
  }

  creditStream(stream: Http2Stream, bytes: number): void {
    stream.uncredited += bytes;
    if (stream.uncredited < initialWindow / 2) return;
    this.#output.push(numbersFrame(types.windowUpdate, stream.id, stream.uncredited));
    stream.receiveWindow += stream.uncredited;
    stream.uncredited = 0;
  }

  #sendEnd(stream: Http2Stream): void {
    const { finalHeaders } = stream;
    if (finalHeaders) this.sendHeaders(stream, finalHeaders, true);
  }

  /** The answer of a stream is complete: what the client still sends is not needed. */
  #sent(stream: Http2Stream): void {
    if (stream.remoteEnded) this.#close(stream);
    else this.reset(stream, errorCodes.none);
  }

  #close(stream: Http2Stream): void {
    if (stream.closed) return;
    stream.closed = true;
    this.#streams.delete(stream);
    if (stream.held > 0) stream.creditConnection(stream.held);
    stream.drop();
    stream.events?.onClose();
    this.#life.streamClosed();
  }

  /** Closes the streams, thousands of them over several turns. Returns the turns, for what follows the last of them. */
  #closeAll(): ReadTurns {
    const turns = ReadTurns.ofEnds(this.#options.clock);
    for (const stream of this.#streams.all()) turns.run(() => this.#close(stream));
    return turns;
  }

  #fail(error: unknown): void {
    const known = error instanceof ConnectionError;
    const code = known ? error.code : errorCodes.internal;
    this.#life.fail(code, known ? error.message : '');
    this.#closeAll();
    if (!known) this.#options.broken(error);
  }

  #frame(type: number, flags: number, id: number, payload: Buffer): void {
    // Further frames of a read that has ended the connection.
    if (this.#life.isOver) return;
    this.#life.heard();
    requirePlace(type, id, this.#blocks.incomplete);
    if (!this.#hasSettings && type !== types.settings)
      throw new ConnectionError(errorCodes.protocol, 'the first frame is not SETTINGS');
    switch (type) {
      case types.data:
        return this.#data(id, flags, payload);
      case types.headers:
        return this.#blocks.begin(id, flags, payload);
      case types.continuation:
        return this.#blocks.proceed(flags, payload);
      case types.reset:
        requireLength(payload, 4);
        this.#resets.spend();
        return this.#resetByClient(id);
      case types.settings:
        return this.#settings(flags, payload);
      case types.ping:
        requireLength(payload, 8);
        // A client acknowledges a ping every now and then.
        if (flags & flag.ack) return this.#oddities.spend();
        this.#answers.spend();
        return this.#output.reply(frame(types.ping, flag.ack, 0, payload));
      case types.windowUpdate:
        requireLength(payload, 4);
        this.#answers.spend();
        return this.#windowUpdate(id, payload.readUInt32BE(0) % 2 ** 31);
      case types.pushPromise:
        throw new ConnectionError(errorCodes.protocol, 'a client pushes');
      case types.goAway:
        // The client begins no more streams; the connection ends when it is idle.
        return this.#oddities.spend();
      case types.priority:
        requireLength(payload, 5);
        return this.#oddities.spend();
      default:
        return this.#oddities.spend();
    }
  }

  #data(id: number, flags: number, payload: Buffer): void {
    const { length } = payload;
    this.#window.received(length);
    const isEnd = (flags & flag.endStream) !== 0;
    const stream = this.#streams.begun(id);
    if (!stream) {
      this.#oddities.spend();
      this.creditConnection(length);
      return;
    }
    const data = flags & flag.padded ? unpadded(payload) : payload;
    if (data.length === 0 && !isEnd) this.#oddities.spend();
    stream.held += length;
    stream.receiveWindow -= length;
    if (stream.remoteEnded) return this.#streamError(stream, errorCodes.streamClosed);
    if (stream.receiveWindow < 0) return this.#streamError(stream, errorCodes.flowControl);
    const padding = length - data.length;
    if (padding > 0) {
      stream.creditConnection(padding);
      stream.creditStream(padding);
    }
    if (isEnd) stream.remoteEnded = true;
    if (data.length > 0) stream.events?.onData(data);
    if (isEnd && !stream.closed) stream.events?.onEnd();
  }

  #headers(id: number, isEnd: boolean, { headers, malformed, tooLarge }: DecodedHeaders): void {
    const present = this.#streams.get(id);
    if (present) return this.#trailers(present, isEnd);
    // Trailers of a stream that was reset meanwhile.
    if (!this.#streams.begin(id)) return this.#oddities.spend();
    // After GOAWAY the client repeats these calls elsewhere.
    if (this.#life.isDraining) return;
    if (this.#streams.size >= this.#options.streamsMax) return this.#refuse(id, errorCodes.refused);
    if (tooLarge) return this.#refuse(id, errorCodes.enhanceYourCalm);
    const request = malformed ? undefined : requestOf(headers);
    if (!request) return this.#refuse(id, errorCodes.protocol);
    const stream = this.#streams.take(id, isEnd);
    this.#options.accept(stream, request);
    if (isEnd && !stream.closed) stream.events?.onEnd();
  }

  #trailers(stream: Http2Stream, isEnd: boolean): void {
    if (stream.remoteEnded) return this.#streamError(stream, errorCodes.streamClosed);
    if (!isEnd) return this.#streamError(stream, errorCodes.protocol);
    stream.remoteEnded = true;
    stream.events?.onEnd();
  }

  #refuse(id: number, code: number): void {
    this.#resets.spend();
    this.#output.push(numbersFrame(types.reset, id, code));
  }

  /** Counted as a reset by the client, which has caused it. */
  #streamError(stream: Http2Stream, code: number): void {
    this.reset(stream, code);
    this.#resets.spend();
  }

  #resetByClient(id: number): void {
    const stream = this.#streams.begun(id);
    if (stream) this.#close(stream);
  }

  #settings(flags: number, payload: Buffer): void {
    this.#hasSettings = true;
    // Clients change them rarely, and acknowledge one frame.
    this.#oddities.spend();
    if (flags & flag.ack) return requireLength(payload, 0);
    const { headerTableSize, initialWindowSize } = clientSettings(payload);
    if (headerTableSize !== undefined) this.#encoder.setTableSize(headerTableSize);
    if (initialWindowSize !== undefined) this.#streams.resize(initialWindowSize);
    this.#output.reply(frame(types.settings, flag.ack, 0, Buffer.alloc(0)));
  }

  #windowUpdate(id: number, more: number): void {
    if (id === 0) return this.#output.enlarge(more);
    const stream = this.#streams.begun(id);
    if (!stream) return;
    stream.sendWindow += more;
    if (more === 0) return this.#streamError(stream, errorCodes.protocol);
    if (stream.sendWindow > windowMax) return this.#streamError(stream, errorCodes.flowControl);
    if (stream.queuedBytes > 0) this.#output.ready(stream);
  }
}
