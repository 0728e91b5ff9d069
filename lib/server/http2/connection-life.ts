import type { Socket } from 'node:net';
import type { Clock, Timer } from '../../base/index.js';
import { errorCodes, frame, frameTypes } from './frames.js';
import type { Output } from './output.js';
import { ReadTurns } from './read-pace.js';
import type { Streams } from './streams.js';

/** How long a client may take to close a connection that the server has ended. */
const lingerMs = 1_000;
const pingPayload = Buffer.from('kedge\0\0\0');

/** Options of {@link ConnectionLife}. */
export interface LifeOptions {
  readonly clock: Clock;
  readonly keepaliveMs: number;
  readonly idleMs: number;
  readonly streams: Streams;
  /** Called when the client has ended its side, and when the socket is closed. */
  closed(): void;
}

/**
 * Ends a connection: by keepalive, idleness, errors, or the stop of the server. Also ends streams whose answers are not
 * read.
 */
export class ConnectionLife {
  readonly #socket: Socket;
  readonly #output: Output;
  readonly #options: LifeOptions;
  #keepalive: Timer;
  #idle: Timer;
  #linger: Timer | undefined;
  #idleSince: number;
  #awaitsFrame = false;
  /** No more frames are read. */
  isOver = false;
  /** No more streams are accepted. */
  isDraining = false;

  constructor(socket: Socket, output: Output, options: LifeOptions) {
    this.#socket = socket;
    this.#output = output;
    this.#options = options;
    this.#idleSince = options.clock.monotonic();
    this.#keepalive = this.#afterKeepalive();
    this.#idle = this.#afterIdle(options.idleMs);
    // 'close' follows, which ends the connection.
    socket.on('error', () => undefined);
    // A half-closed connection has no client that waits for an answer.
    socket.once('end', () => this.#over());
    socket.once('close', () => {
      this.#keepalive.cancel();
      this.#idle.cancel();
      this.#linger?.cancel();
      this.#over();
    });
  }

  /**
   * Notes a frame of the client, which is therefore alive. Its answer to a ping may take long: over a slow network the
   * ping waits behind the data that was written before it.
   */
  heard(): void {
    this.#awaitsFrame = false;
  }

  streamClosed(): void {
    if (this.#options.streams.size > 0) return;
    this.#idleSince = this.#options.clock.monotonic();
    if (!this.isDraining) return;
    // Later: the last frames of the stream may be about to be written.
    this.#options.clock.defer(() => {
      if (this.#options.streams.size === 0) this.#end();
    });
  }

  /** Announces the end, which comes when no stream is open. */
  drain(): void {
    if (this.isDraining || this.isOver) return;
    this.isDraining = true;
    this.#output.push(goAway(this.#options.streams.lastTaken, errorCodes.none, ''));
    if (this.#options.streams.size === 0) this.#end();
  }

  /** Ends the connection at once: because of an error, or because it is idle. The client gets code and message. */
  fail(code: number, message: string): void {
    if (this.isOver) return;
    this.isDraining = true;
    this.#output.push(goAway(this.#options.streams.lastTaken, code, message));
    this.#end();
  }

  /** Received data is read to the end: closing before that would discard the answers that were sent. */
  #end(): void {
    if (this.isOver) return;
    this.isOver = true;
    this.#output.end();
    const socket = this.#socket;
    socket.resume();
    if (socket.writableFinished) this.#lingerOn();
    else socket.once('finish', () => this.#lingerOn());
  }

  /** Everything was sent. Until then the keepalive bounds the time. */
  #lingerOn(): void {
    const end = (): void => void this.#socket.destroy();
    this.#linger = this.#options.clock.setTimer(end, lingerMs, { background: true });
  }

  #over(): void {
    this.isOver = true;
    this.#options.closed();
  }

  #afterKeepalive(): Timer {
    const { clock, keepaliveMs } = this.#options;
    const due = (): void => {
      if (this.#awaitsFrame) return void this.#socket.destroy();
      this.#awaitsFrame = true;
      this.#output.push(frame(frameTypes.ping, 0, 0, pingPayload));
      this.#keepalive = this.#afterKeepalive();
    };
    return clock.setTimer(due, keepaliveMs, { background: true });
  }

  #afterIdle(delayMs: number): Timer {
    const { clock, idleMs, streams } = this.#options;
    const due = (): void => {
      const idleForMs = clock.monotonic() - this.#idleSince;
      const isIdle = streams.size === 0;
      const turns = ReadTurns.ofEnds(clock);
      for (const stream of streams.stalled()) turns.run(() => stream.reset(errorCodes.cancel));
      if (isIdle && idleForMs >= idleMs) this.fail(errorCodes.none, 'idle');
      else this.#idle = this.#afterIdle(isIdle ? idleMs - idleForMs : idleMs);
    };
    return clock.setTimer(due, delayMs, { background: true });
  }
}

function goAway(lastStream: number, code: number, message: string): Buffer {
  const payload = Buffer.alloc(8 + message.length);
  payload.writeUInt32BE(lastStream, 0);
  payload.writeUInt32BE(code, 4);
  payload.write(message, 8, 'latin1');
  return frame(frameTypes.goAway, 0, 0, payload);
}
