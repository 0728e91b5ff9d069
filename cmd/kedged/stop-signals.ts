import type { Clock } from 'kedge';

/**
 * A second signal within this time is the same request, milliseconds: Ctrl-C reaches a daemon from the
 * terminal and once more from the npm that started it.
 */
export const sameRequestMs = 2_000;

/** Options of a listener for signals. */
export interface StopSignalsOptions {
  readonly clock: Clock;
  /** Stops gracefully; called once. */
  readonly stop: () => void;
  /** Exits immediately. */
  readonly end: () => void;
}

/**
 * Creates a listener for SIGTERM and SIGINT: the first stops gracefully, one after {@link sameRequestMs} exits
 * immediately, and others are ignored.
 */
export function stopSignals({ clock, stop, end }: StopSignalsOptions): () => void {
  let askedAt: number | undefined;
  return () => {
    if (askedAt === undefined) {
      askedAt = clock.monotonic();
      stop();
    } else if (clock.monotonic() - askedAt >= sameRequestMs) end();
  };
}
