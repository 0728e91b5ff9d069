import { setMaxListeners } from 'node:events';
import { StatusError } from './errors.js';

/**
 * Resolves as `promise`, or rejects as soon as `signal` aborts: for external work that may ignore
 * the signal.
 * @throws StatusError Cancelled
 */
export async function untilAborted<R>(promise: Promise<R>, signal: AbortSignal): Promise<R> {
  let stop: () => void = () => undefined;
  const aborted = new Promise<never>((_, reject) => {
    stop = () =>
      reject(new StatusError({ code: 'Cancelled', reason: 'Aborted', message: 'was aborted' }));
    if (signal.aborted) stop();
    else signal.addEventListener('abort', stop, { once: true });
  });
  try {
    return await Promise.race([promise, aborted]);
  } finally {
    signal.removeEventListener('abort', stop);
    // The abandoned work may still reject; this prevents an unhandled rejection.
    promise.catch(() => undefined);
    aborted.catch(() => undefined);
  }
}

/** A signal that follows others until it is disposed. */
export interface LinkedSignal extends Disposable {
  readonly signal: AbortSignal;
}

/**
 * A signal that aborts, with the same reason, as soon as one of `sources` does. Dispose it when the work ends:
 * AbortSignal.any would leave an entry on a long-lived source.
 */
export function linkSignals(...sources: readonly AbortSignal[]): LinkedSignal {
  const controller = new AbortController();
  // Many listeners may follow one signal, such as the one of a store's close; this is not a leak.
  setMaxListeners(0, ...sources);
  const stops = sources.map((source) => {
    const abort = (): void => controller.abort(source.reason);
    if (source.aborted) abort();
    else source.addEventListener('abort', abort, { once: true });
    return () => source.removeEventListener('abort', abort);
  });
  return {
    signal: controller.signal,
    [Symbol.dispose]() {
      for (const stop of stops) stop();
    },
  };
}
