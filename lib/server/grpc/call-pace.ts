import type { Clock } from '../../base/index.js';

/** Maximum calls that start in one turn. Between two reads of a socket at most twice as many start. */
const callsPerTurn = 32;
/** The first calls of a server, and how many of them start per turn: calls are slow until the code is compiled. */
const coldCalls = 512;
const coldCallsPerTurn = 8;

/**
 * Spreads calls that arrive together over turns of the event loop: one read of a connection may bring hundreds.
 * Connections take turns, so that those with few calls do not wait for those with many.
 */
export class CallPace<Connection> {
  readonly #clock: Pick<Clock, 'defer'>;
  /** Calls to start, by connection. The first connection is served next. */
  readonly #waiting = new Map<Connection, (() => void)[]>();
  #begun = 0;
  /** Calls that started in earlier turns, at most {@link coldCalls}. */
  #before = 0;
  #deferred = false;

  constructor(clock: Pick<Clock, 'defer'>) {
    this.#clock = clock;
  }

  /** Starts a call of a connection: at once if few started in this turn, otherwise in a later turn. */
  begin(connection: Connection, call: () => void): void {
    const isFree = this.#begun < this.#most() && this.#waiting.size === 0;
    if (isFree) this.#begun += 1;
    else this.#wait(connection, call);
    if (!this.#deferred) {
      this.#deferred = true;
      this.#clock.defer(() => this.#serve());
    }
    if (isFree) call();
  }

  #wait(connection: Connection, call: () => void): void {
    const calls = this.#waiting.get(connection);
    if (calls) calls.push(call);
    else this.#waiting.set(connection, [call]);
  }

  #most(): number {
    return this.#before < coldCalls ? coldCallsPerTurn : callsPerTurn;
  }

  #serve(): void {
    this.#before = Math.min(coldCalls, this.#before + this.#begun);
    this.#begun = 0;
    const most = this.#most();
    this.#deferred = this.#waiting.size > 0;
    if (!this.#deferred) return;
    this.#clock.defer(() => this.#serve());
    for (const [connection, calls] of this.#waiting) {
      if (this.#begun >= most) return;
      const call = calls.shift();
      this.#waiting.delete(connection);
      // Reinserted at the end of the map, where this loop visits it again.
      if (calls.length > 0) this.#waiting.set(connection, calls);
      this.#begun += 1;
      call?.();
    }
  }
}
