import { setMaxListeners } from 'node:events';

/** A signal that follows others until it is disposed. */
export interface LinkedSignal extends Disposable {
  readonly signal: AbortSignal;
}

/**
 * A signal that aborts, with the same reason, as soon as one of `sources` does. Dispose it when the
 * work it guards is over: AbortSignal.any leaves an entry on a long-lived source for ever.
 */
export function linkSignals(...sources: readonly AbortSignal[]): LinkedSignal {
  const controller = new AbortController();
  // Many may follow one signal, such as that of a store's end; that is no leak.
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
