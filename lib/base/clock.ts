/**
 * Time as a port. Other code in lib and controllers neither reads the system clock nor sets timers (lint rule), so
 * that tests control time.
 */

/** A timer; `cancel` is idempotent. */
export interface Timer {
  cancel(): void;
}

/** Options of a timer. */
export interface TimerOptions {
  /**
   * True for background maintenance, such as compaction or metrics: the process may end before the
   * timer fires. Default false: a pending timer keeps the process running.
   */
  readonly background?: boolean;
}

/** The source of time. */
export interface Clock {
  /** Wall-clock time, milliseconds since the epoch. May jump. */
  now(): number;
  /** Monotonic milliseconds; only differences are meaningful. */
  monotonic(): number;
  /**
   * Runs `callback` once after `delayMs` (0 or more). `Infinity` never fires, and keeps the process
   * running until it is cancelled; see {@link holdProcess}.
   */
  setTimer(callback: () => void, delayMs: number, options?: TimerOptions): Timer;
  /**
   * Milliseconds since the first call of this method in the present turn of the event loop: concurrent long tasks
   * share this budget (see TimeSlice).
   */
  turnAgeMs(): number;
  /** Runs `callback` in a later turn of the event loop, after pending I/O. Callbacks run in order. */
  defer(callback: () => void): void;
}

const timerMaxMs = 2 ** 31 - 1;

/** Returns the `turnAgeMs` of the system's event loop. A turn ends when immediates run. */
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

/** The system clock. */
export const systemClock: Clock = {
  now: () => Date.now(),
  monotonic: () => performance.now(),
  setTimer(callback, delayMs, options) {
    // Node.js turns a delay above 2^31-1 ms into 1 ms: re-arm instead.
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
 * Keeps the process running until the result is disposed, for work without a timer or socket, such
 * as a watch of an in-process store.
 */
export function holdProcess(clock: Clock): Disposable {
  const timer = clock.setTimer(() => undefined, Infinity);
  return { [Symbol.dispose]: () => timer.cancel() };
}

/** Resolves after `delayMs`, or at once when `signal` aborts (it does not reject: callers check the signal). */
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

/** The clock's wall time in the form of RFC 3339, in UTC. */
export function timestamp(clock: Clock): string {
  return new Date(clock.now()).toISOString();
}
