import type { Socket } from 'node:net';
import type { Clock } from '../../base/index.js';
import type { Output } from './output.js';

/** Bytes after which a connection is not read any more in the same turn of the event loop. */
const turnBytesMax = 131_072;
/**
 * Time after which no further work begins in one turn of the event loop, milliseconds: once for the reads and once for the
 * ends of the streams of all connections that share a clock.
 */
const turnMs = 8;

/** Streams that end in one turn: the end of each causes about 0.1 ms of work, most of it later in the turn. */
const endsPerTurn = 32;

/** The turns of each clock, which all connections share. */
const reads = new WeakMap<object, ReadTurns>();
const ends = new WeakMap<object, ReadTurns>();

function turnsOf(known: WeakMap<object, ReadTurns>, clock: ReadClock, mostRuns: number): ReadTurns {
  const found = known.get(clock) ?? new ReadTurns(clock, mostRuns);
  known.set(clock, found);
  return found;
}

/** The part of a clock that {@link ReadTurns} needs. */
export type ReadClock = Pick<Clock, 'defer' | 'monotonic'>;

/**
 * Bounds what all connections together do in one turn: thousands of them may bring small frames at once, or close. The
 * rest is done in later turns, in the order of its arrival.
 */
export class ReadTurns {
  readonly #clock: ReadClock;
  readonly #waiting: (() => void)[] = [];
  readonly #mostRuns: number;
  #usedMs = 0;
  #runs = 0;
  #isDeferred = false;

  /** @param mostRuns maximum runs in one turn */
  constructor(clock: ReadClock, mostRuns: number) {
    this.#clock = clock;
    this.#mostRuns = mostRuns;
  }

  /** The turns in which connections with a clock are read. */
  static of(clock: ReadClock): ReadTurns {
    return turnsOf(reads, clock, Infinity);
  }

  /**
   * The turns in which streams with a clock end that may end together in thousands: those of closed or failed
   * connections, those whose answers are not read, and those whose deadline has come.
   */
  static ofEnds(clock: ReadClock): ReadTurns {
    return turnsOf(ends, clock, endsPerTurn);
  }

  /** Runs work that does not throw, at once or in a later turn. Returns whether it was run at once. */
  run(work: () => void): boolean {
    this.#later();
    if (this.#waiting.length > 0 || this.#isUsedUp) {
      this.#waiting.push(work);
      return false;
    }
    this.#measure(work);
    return true;
  }

  get #isUsedUp(): boolean {
    return this.#usedMs >= turnMs || this.#runs >= this.#mostRuns;
  }

  #measure(work: () => void): void {
    this.#runs += 1;
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
      this.#runs = 0;
      while (!this.#isUsedUp) {
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
