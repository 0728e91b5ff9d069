import { DriverError } from '../errors/errors.js';

/** The clock of provider calls. The `Clock` of the library is one. */
export interface ProviderClock {
  /** Wall-clock time, milliseconds since the epoch. */
  now(): number;
  /** Monotonic milliseconds; only differences are meaningful. */
  monotonic(): number;
  /** Runs `callback` once after `delayMs`, unless it is cancelled before. */
  setTimer(callback: () => void, delayMs: number): { cancel(): void };
}

/** The machine's clock. */
export const machineClock: ProviderClock = {
  now: () => Date.now(),
  monotonic: () => performance.now(),
  setTimer(callback, delayMs) {
    const timer = setTimeout(callback, delayMs);
    return { cancel: () => clearTimeout(timer) };
  },
};

/** Resolves after `ms`. @throws DriverError Timeout if `signal` is aborted before */
export function pauseOn(clock: ProviderClock, ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const end = (settle: () => void): void => {
      timer.cancel();
      signal.removeEventListener('abort', abort);
      settle();
    };
    const abort = (): void =>
      end(() => reject(new DriverError('Timeout', 'the wait for the provider was cancelled')));
    const timer = clock.setTimer(() => end(resolve), ms);
    signal.addEventListener('abort', abort, { once: true });
    if (signal.aborted) abort();
  });
}

/**
 * Runs `work` with a signal that is aborted after `ms` and when `signal` is aborted. The promise settles then, even if
 * `work` ignores its signal and continues.
 * @throws what `work` throws; the error of `late` at the deadline or after `signal` was aborted
 */
export async function withDeadline<T>(
  clock: ProviderClock,
  ms: number,
  signal: AbortSignal,
  late: (cause: 'deadline' | 'cancelled') => Error,
  work: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const inner = new AbortController();
  let over: (cause: 'deadline' | 'cancelled') => void = () => undefined;
  const ended = new Promise<never>((_, reject) => {
    over = (cause) => {
      reject(late(cause));
      inner.abort();
    };
  });
  ended.catch(() => undefined);
  const timer = clock.setTimer(() => over('deadline'), ms);
  const abort = (): void => over('cancelled');
  signal.addEventListener('abort', abort, { once: true });
  try {
    if (signal.aborted) abort();
    const running = signal.aborted ? ended : work(inner.signal);
    running.catch(() => undefined);
    return await Promise.race([ended, running]);
  } finally {
    timer.cancel();
    signal.removeEventListener('abort', abort);
  }
}
