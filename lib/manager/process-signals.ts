import { constants } from 'node:os';
import { type Clock, linkSignals } from '../base/index.js';

const endingSignals = ['SIGTERM', 'SIGINT'] as const;
type EndingSignal = (typeof endingSignals)[number];

/** Two SIGINT within this time count as one: npm forwards Ctrl-C to its child, which gets it from the terminal too. */
const echoMs = 200;

/**
 * Returns a signal that aborts at SIGTERM, SIGINT, or when `asked` aborts. A later SIGTERM or SIGINT ends the process
 * with the exit code of shells (143, 130). Disposing the result removes the handlers.
 */
export function untilSignalled(
  clock: Clock,
  asked: AbortSignal | undefined,
): Disposable & { readonly signal: AbortSignal } {
  const signalled = new AbortController();
  const link = linkSignals(signalled.signal, ...(asked ? [asked] : []));
  let first: { readonly name: EndingSignal; readonly at: number } | undefined;
  const handle = (name: EndingSignal): void => {
    const now = clock.monotonic();
    if (first?.name === 'SIGINT' && name === 'SIGINT' && now - first.at < echoMs) return;
    if (link.signal.aborted) process.exit(128 + constants.signals[name]);
    first = { name, at: now };
    signalled.abort();
  };
  for (const name of endingSignals) process.on(name, handle);
  return {
    signal: link.signal,
    [Symbol.dispose]() {
      for (const name of endingSignals) process.off(name, handle);
      link[Symbol.dispose]();
    },
  };
}

/** Resolves once a signal aborts. */
export function aborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve();
    else signal.addEventListener('abort', () => resolve(), { once: true });
  });
}
