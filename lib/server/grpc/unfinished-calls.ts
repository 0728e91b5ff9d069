import { type Clock, StatusError, type Timer } from '../../base/index.js';

/** Maximum time until a request has arrived completely, as for a REST request. */
const arrivalMs = 30_000;
/** A request that takes longer than this is slow. */
const slowAfterMs = 2_000;
/** Maximum slow requests per account: each may buffer four megabytes. */
const slowMax = 64;
/** Interval of the check for incomplete requests. */
const checkMs = 1_000;
/** Calls that are ended in one turn of the event loop: connections may have thousands that are due together. */
const endsPerTurn = 32;

interface Unfinished {
  readonly account: string;
  readonly sinceMs: number;
  readonly end: (why: StatusError) => void;
}

interface Due {
  readonly call: Unfinished;
  readonly why: () => StatusError;
}

/**
 * Calls whose request has not arrived completely. Each has a time limit, and the number of slow ones of an account is
 * bounded, so that no account fills the memory with them.
 */
export class UnfinishedCalls {
  readonly #clock: Clock;
  /** Open calls, oldest first. */
  readonly #open = new Set<Unfinished>();
  #timer: Timer | undefined;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Starts to wait for a request of this account. Returns a function to call when it has arrived or the call ended. */
  begin(account: string, end: (why: StatusError) => void): () => void {
    const call = { account, sinceMs: this.#clock.monotonic(), end };
    this.#open.add(call);
    this.#timer ??= this.#later();
    return () => void this.#open.delete(call);
  }

  #later(): Timer {
    return this.#clock.setTimer(() => this.#check(), checkMs, { background: true });
  }

  #check(): void {
    const now = this.#clock.monotonic();
    const slow = new Map<string, number>();
    const due: Due[] = [];
    for (const call of this.#open) {
      const ageMs = now - call.sinceMs;
      if (ageMs < slowAfterMs) break;
      const count = (slow.get(call.account) ?? 0) + 1;
      const why = ageMs >= arrivalMs ? late : count > slowMax ? tooMany : undefined;
      if (why) due.push({ call, why });
      else slow.set(call.account, count);
    }
    this.#end(due, 0);
  }

  /** Ends calls that have not arrived meanwhile, over several turns, and checks again later. */
  #end(due: readonly Due[], from: number): void {
    const end = from + endsPerTurn;
    for (const { call, why } of due.slice(from, end)) if (this.#open.delete(call)) call.end(why());
    if (end < due.length) this.#clock.defer(() => this.#end(due, end));
    else this.#timer = this.#open.size > 0 ? this.#later() : undefined;
  }
}

function late(): StatusError {
  return new StatusError({
    code: 'DeadlineExceeded',
    reason: 'RequestTimeout',
    message: `the request was still incomplete after ${arrivalMs / 1_000} s; send it without pauses, or split it`,
  });
}

function tooMany(): StatusError {
  return new StatusError({
    code: 'ResourceExhausted',
    reason: 'TooManyCalls',
    message:
      `${slowMax} requests of the same account are still incomplete after ${slowAfterMs / 1_000} s, ` +
      'which is the limit; complete them first',
    retryAfterMs: 1_000,
  });
}
