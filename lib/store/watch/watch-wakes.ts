import type { Clock, Timer } from '../../base/index.js';

/** A pass to so many watchers is not worth a rest. */
const fewMax = 16;
/** Watchers that are woken in one turn of the event loop: each sends a message of its own. */
const turnMax = 256;
/** The most time that one watcher's share of a pass is taken to last, and the longest rest after a pass. */
const shareMs = 0.05;
const restMsMax = 50;
/** A pass that took less needs no rest. */
const restMsMin = 1;

/** A watcher that waits for the next publication. */
export interface Waiter {
  /** Resolves at the next publication, when `untilMs` of the monotonic clock has come, or when the signal aborts. */
  wait(untilMs: number | undefined): Promise<void>;
  [Symbol.dispose](): void;
}

/**
 * Wakes watchers after publications, all of them in one pass. A pass to few watchers starts at once. After one to many
 * watchers, the next rests as long as it took: meanwhile writes go on, and the next pass has all their events in
 * one message for each watcher.
 */
export class WatchWakes {
  readonly #clock: Clock;
  readonly #prompt = new Set<() => void>();
  readonly #waiting = new Set<() => void>();
  /** The watchers of the pass in progress; one that has ended no longer waits. */
  #toWake: (() => void)[] = [];
  #busy = false;
  /** Whether there was a publication since the pass in progress began. */
  #again = false;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Number of waiting watchers. */
  get size(): number {
    return this.#waiting.size + this.#prompt.size;
  }

  /** Wakes the prompt watchers, and starts a pass to the others, or has one follow the pass in progress. */
  published(): void {
    for (const wake of [...this.#prompt]) wake();
    if (this.#busy) this.#again = true;
    else if (this.#waiting.size > 0) this.#pass();
  }

  /** Wakes every watcher at once. */
  all(): void {
    for (const wake of [...this.#prompt, ...this.#waiting]) wake();
  }

  /**
   * A watcher. Waiting keeps the process running.
   * @param isPrompt whether it is woken by each publication at once, whatever the others take
   */
  join(signal: AbortSignal, isPrompt = false): Waiter {
    const waiting = isPrompt ? this.#prompt : this.#waiting;
    const clock = this.#clock;
    let resolve: (() => void) | undefined;
    let timer: Timer | undefined;
    let until: number | undefined;
    const wake = (): void => {
      waiting.delete(wake);
      const done = resolve;
      resolve = undefined;
      done?.();
      // Without a waiting watcher, a timer without an end would keep the process running.
      if (until === undefined) disarm();
    };
    const disarm = (): void => {
      timer?.cancel();
      timer = undefined;
    };
    // The timer stays while messages come: setting one for each message costs more than one that fires too early.
    const arm = (): void => {
      const leftMs = until === undefined ? Infinity : Math.max(0, until - clock.monotonic());
      timer ??= clock.setTimer(() => {
        timer = undefined;
        if (!resolve) return;
        if (until !== undefined && until > clock.monotonic()) arm();
        else wake();
      }, leftMs);
    };
    signal.addEventListener('abort', wake);
    return {
      wait: (untilMs) => {
        if (signal.aborted) return Promise.resolve();
        until = untilMs;
        arm();
        waiting.add(wake);
        return new Promise((done) => {
          resolve = done;
        });
      },
      [Symbol.dispose]: () => {
        signal.removeEventListener('abort', wake);
        disarm();
        wake();
      },
    };
  }

  #pass(): void {
    if (this.#waiting.size <= fewMax) return this.all();
    this.#busy = true;
    this.#toWake = [...this.#waiting];
    this.#some(0, this.#clock.monotonic());
  }

  #some(from: number, beganAt: number): void {
    const waiting = this.#waiting;
    const end = Math.min(from + turnMax, this.#toWake.length);
    for (let at = from; at < end; at += 1) {
      const wake = this.#toWake[at];
      if (wake && waiting.has(wake)) wake();
    }
    // The watchers run after this turn's callback.
    this.#clock.defer(() => {
      if (end < this.#toWake.length) this.#some(end, beganAt);
      else this.#rest(beganAt);
    });
  }

  #rest(beganAt: number): void {
    // Other work of these turns counts only up to what the watchers may have taken.
    const woken = this.#toWake.length * shareMs;
    const tookMs = Math.min(this.#clock.monotonic() - beganAt, woken, restMsMax);
    this.#toWake = [];
    if (tookMs < restMsMin) this.#next();
    else this.#clock.setTimer(() => this.#next(), tookMs, { background: true });
  }

  #next(): void {
    this.#busy = false;
    if (!this.#again) return;
    this.#again = false;
    if (this.#waiting.size > 0) this.#pass();
  }
}
