import type { Socket } from 'node:net';
import type { Clock } from '../../base/index.js';
import type { Output } from './output.js';

/** Bytes after which a connection is not read any more in the same turn of the event loop. */
const turnBytesMax = 131_072;
/** Time that the connections of a server may read in one turn of the event loop, milliseconds. */
const turnMs = 8;

/** The turns of each clock, which all connections share. */
const known = new WeakMap<object, ReadTurns>();

/** The part of a clock that {@link ReadTurns} needs. */
export type ReadClock = Pick<Clock, 'defer' | 'monotonic'>;

/**
 * Bounds the time that all connections together read in one turn: thousands of them may bring small frames at once.
 * The rest is read in later turns, in the order of its arrival.
 */
export class ReadTurns {
  readonly #clock: ReadClock;
  readonly #waiting: (() => void)[] = [];
  #usedMs = 0;
  #isDeferred = false;

  constructor(clock: ReadClock) {
    this.#clock = clock;
  }

  /** The turns of a clock. */
  static of(clock: ReadClock): ReadTurns {
    const found = known.get(clock) ?? new ReadTurns(clock);
    known.set(clock, found);
    return found;
  }

  /** Runs work that does not throw, at once or in a later turn. Returns whether it was run at once. */
  run(work: () => void): boolean {
    this.#later();
    if (this.#waiting.length > 0 || this.#usedMs >= turnMs) {
      this.#waiting.push(work);
      return false;
    }
    this.#measure(work);
    return true;
  }

  #measure(work: () => void): void {
    const begunAt = this.#clock.monotonic();
    work();
    this.#usedMs += this.#clock.monotonic() - begunAt;
  }

  #later(): void {
    if (this.#isDeferred) return;
    this.#isDeferred = true;
    this.#clock.defer(() => {
      this.#isDeferred = false;
      this.#usedMs = 0;
      while (this.#usedMs < turnMs) {
        const work = this.#waiting.shift();
        if (!work) return;
        this.#measure(work);
      }
      this.#later();
    });
  }
}

/**
 * Spreads what a connection has received over turns: Node.js reads up to two megabytes of small frames in one. The time of
 * all connections is bounded too, see {@link ReadTurns}.
 */
export class ReadPace {
  readonly #socket: Socket;
  readonly #output: Output;
  readonly #clock: ReadClock;
  readonly #take: (bytes: Buffer) => void;
  #bytes = 0;
  /** Reads that wait for a later turn. */
  #waiting = 0;

  /** @param take takes what was read; must not throw */
  constructor(socket: Socket, output: Output, clock: ReadClock, take: (bytes: Buffer) => void) {
    this.#socket = socket;
    this.#output = output;
    this.#clock = clock;
    this.#take = take;
  }

  /** Passes on bytes that were read in this turn, now or later, and pauses the socket beyond the maximum. */
  read(bytes: Buffer): void {
    if (this.#bytes === 0) this.#clock.defer(() => this.#nextTurn());
    this.#bytes += bytes.length;
    this.#waiting += 1;
    const isRead = ReadTurns.of(this.#clock).run(() => {
      this.#waiting -= 1;
      this.#take(bytes);
      this.#proceed();
    });
    if (!isRead || this.#bytes >= turnBytesMax) this.#socket.pause();
  }

  #nextTurn(): void {
    this.#bytes = 0;
    this.#proceed();
  }

  #proceed(): void {
    if (this.#waiting > 0 || this.#bytes >= turnBytesMax || this.#output.isBacklogged) return;
    if (this.#socket.isPaused()) this.#socket.resume();
  }
}
