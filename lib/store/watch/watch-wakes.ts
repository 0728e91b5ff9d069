import type { Clock, Timer } from '../../base/index.js';

/** A pass to at most this many watchers needs no rest. */
const fewMax = 16;
/** Watchers that are woken in one turn of the event loop: each sends a message of its own. */
const turnMax = 256;
/** Assumed maximum duration of one watcher's part of a pass, and the maximum rest after a pass, milliseconds. */
const shareMs = 0.05;
const restMsMax = 50;
/** A pass that took less needs no rest. */
const restMsMin = 1;

/** A watcher that waits for the next publication of its kind. */
export interface Waiter {
  /**
   * Resolves after the next publication of its kind, when `untilMs` of the monotonic clock has come, or when the signal
   * aborts; then to a revision up to which nothing of its kind was published since the call.
   */
  wait(untilMs: number | undefined): Promise<number>;
  [Symbol.dispose](): void;
}

/** The part of a publication that watchers need. */
export interface Publication {
  readonly revision: number;
  readonly changes: readonly { readonly kind: string }[];
}

/** A wait of a watcher. */
interface Waiting {
  readonly isPrompt: boolean;
  /** The revision before the first publication of its kind since the wait began; undefined without one. */
  unchangedTo: number | undefined;
  wake(): void;
}

/**
 * Wakes the watchers of a kind after its publications, all of them in one pass. A pass to few watchers needs no rest.
 * After a pass to many watchers, the next one waits for as long as that pass took, up to a maximum. Meanwhile writes
 * continue, and the next pass delivers their events in fewer messages.
 */
export class WatchWakes {
  readonly #clock: Clock;
  /** The watchers that wait and of whose kind nothing was published since, by kind. */
  readonly #waiting = new Map<string, Set<Waiting>>();
  /** Those that the next pass wakes. */
  readonly #touched = new Set<Waiting>();
  /** The last published revision. */
  #revision: number;
  /** The watchers of the pass in progress; one that has ended no longer waits. */
  #toWake: readonly Waiting[] = [];
  #busy = false;

  /** @param revision the last published one */
  constructor(clock: Clock, revision: number) {
    this.#clock = clock;
    this.#revision = revision;
  }

  /** Number of waiting watchers. */
  get size(): number {
    let size = this.#touched.size;
    for (const watchers of this.#waiting.values()) size += watchers.size;
    return size;
  }

  /**
   * Wakes the prompt watchers of the published kinds, and starts a pass to the others of these kinds, or has one follow
   * the pass in progress.
   */
  published(batch: readonly Publication[]): void {
    const before = this.#revision;
    this.#revision = batch.at(-1)?.revision ?? before;
    for (const { changes } of batch)
      for (const { kind } of changes) {
        const watchers = this.#waiting.get(kind);
        if (watchers && watchers.size > 0) this.#touch(watchers, before);
      }
    if (!this.#busy && this.#touched.size > 0) this.#pass();
  }

  /** Wakes every watcher at once. */
  all(): void {
    for (const watchers of this.#waiting.values()) for (const one of [...watchers]) one.wake();
    for (const one of [...this.#touched]) one.wake();
  }

  /**
   * A watcher. Waiting keeps the process running.
   * @param isPrompt whether it is woken by each publication of its kind at once, also during a rest
   */
  join(kind: string, signal: AbortSignal, isPrompt = false): Waiter {
    const watchers = this.#watchersOf(kind);
    const clock = this.#clock;
    let resolve: ((unchangedTo: number) => void) | undefined;
    let timer: Timer | undefined;
    let until: number | undefined;
    const wake = (): void => {
      watchers.delete(waiting);
      this.#touched.delete(waiting);
      const done = resolve;
      resolve = undefined;
      done?.(waiting.unchangedTo ?? this.#revision);
      // Without a waiting watcher, a timer without an end would keep the process running.
      if (until === undefined) disarm();
    };
    const waiting: Waiting = { isPrompt, unchangedTo: undefined, wake };
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
        if (signal.aborted) return Promise.resolve(0);
        until = untilMs;
        arm();
        waiting.unchangedTo = undefined;
        watchers.add(waiting);
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

  #watchersOf(kind: string): Set<Waiting> {
    let watchers = this.#waiting.get(kind);
    if (!watchers) this.#waiting.set(kind, (watchers = new Set()));
    return watchers;
  }

  #touch(watchers: Set<Waiting>, before: number): void {
    for (const one of [...watchers]) {
      one.unchangedTo = before;
      if (one.isPrompt) one.wake();
      else {
        watchers.delete(one);
        this.#touched.add(one);
      }
    }
  }

  #pass(): void {
    const toWake = [...this.#touched];
    if (toWake.length <= fewMax) {
      for (const one of toWake) one.wake();
      return;
    }
    this.#busy = true;
    this.#toWake = toWake;
    this.#some(0, this.#clock.monotonic());
  }

  #some(from: number, beganAt: number): void {
    const end = Math.min(from + turnMax, this.#toWake.length);
    for (let at = from; at < end; at += 1) {
      const one = this.#toWake[at];
      if (one && this.#touched.has(one)) one.wake();
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
    if (this.#touched.size > 0) this.#pass();
  }
}
