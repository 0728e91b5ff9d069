/**
 * Time as a port. Nothing else in lib and controllers reads the system's clock or sets a timer
 * (lint rule), so that tests and the simulator own time.
 */

/** A timer that was set; `cancel` is idempotent. */
export interface Timer {
  cancel(): void;
}

/** How a timer is set. */
export interface TimerOptions {
  /**
   * Housekeeping that nobody awaits, such as compaction or metrics: the process may end before it is
   * due. Default false: a pending timer keeps the process running.
   */
  readonly background?: boolean;
}

/** Where time comes from. */
export interface Clock {
  /** Wall-clock time, milliseconds since the epoch. May jump. */
  now(): number;
  /** Milliseconds that never go back; only differences mean something. */
  monotonic(): number;
  /**
   * Runs `callback` once after `delayMs` (0 or more). `Infinity` never fires, and keeps the process
   * running until it is cancelled; see {@link holdProcess}.
   */
  setTimer(callback: () => void, delayMs: number, options?: TimerOptions): Timer;
  /**
   * Milliseconds that the present turn of the event loop has lasted, counted from the first time
   * it was asked: long work of many parts shares this budget (see TimeSlice).
   */
  turnAgeMs(): number;
  /** Runs `callback` in a later turn, after the input and output that is waiting. Order is kept. */
  defer(callback: () => void): void;
}

const timerMaxMs = 2 ** 31 - 1;

/** Age of the machine's turns: a turn ends when immediates run. */
function turnClock(): () => number {
  let startedAt: number | undefined;
  const end = (): void => {
    startedAt = undefined;
  };
  return () => {
    const now = performance.now();
    if (startedAt === undefined) {
      startedAt = now;
      setImmediate(end);
    }
    return now - startedAt;
  };
}

/** The machine's clock. */
export const systemClock: Clock = {
  now: () => Date.now(),
  monotonic: () => performance.now(),
  setTimer(callback, delayMs, options) {
    // Node turns a delay beyond 2^31-1 ms into 1 ms: re-arm instead.
    let handle: NodeJS.Timeout;
    const arm = (leftMs: number): void => {
      const stepMs = Math.min(leftMs, timerMaxMs);
      handle = setTimeout(() => {
        if (leftMs > stepMs) arm(leftMs - stepMs);
        else callback();
      }, stepMs);
      if (options?.background) handle.unref();
    };
    arm(Math.max(0, delayMs));
    return { cancel: () => clearTimeout(handle) };
  },
  turnAgeMs: turnClock(),
  defer: (callback) => void setImmediate(callback),
};

/**
 * Keeps the process running until it is disposed of: for what goes on without a timer or a socket of
 * its own, such as an open watch of a store in process.
 */
export function holdProcess(clock: Clock): Disposable {
  const timer = clock.setTimer(() => undefined, Infinity);
  return { [Symbol.dispose]: () => timer.cancel() };
}

/** Resolves after `delayMs`, or at once when `signal` aborts (it does not reject: callers look at the signal). */
export function sleep(
  clock: Clock,
  delayMs: number,
  signal?: AbortSignal,
  options?: TimerOptions,
): Promise<void> {
  if (signal?.aborted) return Promise.resolve();
  return new Promise((resolve) => {
    const finish = (): void => {
      timer.cancel();
      signal?.removeEventListener('abort', finish);
      resolve();
    };
    const timer = clock.setTimer(finish, delayMs, options);
    signal?.addEventListener('abort', finish, { once: true });
  });
}

/** RFC 3339 form of the clock's wall time, in UTC. */
export function timestamp(clock: Clock): string {
  return new Date(clock.now()).toISOString();
}
