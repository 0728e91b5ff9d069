import type { Socket } from 'node:net';
import type { Clock } from '../../base/index.js';
import type { Output } from './output.js';

/** Bytes after which a connection is not read any more in the same turn of the event loop. */
const turnBytesMax = 131_072;

/** Spreads what a connection has received over turns: Node.js reads up to two megabytes of small frames in one. */
export class ReadPace {
  readonly #socket: Socket;
  readonly #output: Output;
  readonly #clock: Pick<Clock, 'defer'>;
  #bytes = 0;

  constructor(socket: Socket, output: Output, clock: Pick<Clock, 'defer'>) {
    this.#socket = socket;
    this.#output = output;
    this.#clock = clock;
  }

  /** Counts bytes that were read in this turn, and pauses the socket beyond the maximum. */
  read(bytes: number): void {
    if (this.#bytes === 0) this.#clock.defer(() => this.#nextTurn());
    this.#bytes += bytes;
    if (this.#bytes >= turnBytesMax) this.#socket.pause();
  }

  #nextTurn(): void {
    this.#bytes = 0;
    if (this.#socket.isPaused() && !this.#output.isBacklogged) this.#socket.resume();
  }
}
