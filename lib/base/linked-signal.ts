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

/** The followers of each source, with one listener for all: the removal of a listener walks over those before it. */
const followers = new WeakMap<AbortSignal, Follower>();

/** The functions that one listener of a signal calls when it aborts. */
class Follower {
  readonly #source: AbortSignal;
  readonly #calls = new Set<() => void>();
  readonly #aborted = (): void => {
    for (const call of this.#calls) call();
  };

  constructor(source: AbortSignal) {
    this.#source = source;
    // Others may follow a long-lived signal with listeners of their own; this is not a leak.
    setMaxListeners(0, source);
    source.addEventListener('abort', this.#aborted, { once: true });
  }

  add(call: () => void): void {
    this.#calls.add(call);
  }

  delete(call: () => void): void {
    if (!this.#calls.delete(call) || this.#calls.size > 0) return;
    this.#source.removeEventListener('abort', this.#aborted);
    followers.delete(this.#source);
  }
}

function followerOf(source: AbortSignal): Follower {
  let follower = followers.get(source);
  if (!follower) followers.set(source, (follower = new Follower(source)));
  return follower;
}

/**
 * A signal that aborts, with the same reason, as soon as one of `sources` does. Dispose it when the work ends:
 * AbortSignal.any would leave an entry on a long-lived source.
 */
export function linkSignals(...sources: readonly AbortSignal[]): LinkedSignal {
  const controller = new AbortController();
  const stops = sources.map((source) => {
    const abort = (): void => controller.abort(source.reason);
    if (source.aborted) {
      abort();
      return () => undefined;
    }
    const follower = followerOf(source);
    follower.add(abort);
    return () => follower.delete(abort);
  });
  return {
    signal: controller.signal,
    [Symbol.dispose]() {
      for (const stop of stops) stop();
    },
  };
}
