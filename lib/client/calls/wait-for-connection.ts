import { type ChannelInterface, connectivityState } from '@grpc/grpc-js';
import { systemClock } from '../../base/index.js';

/**
 * Time of one wait for the next state of a channel, milliseconds. grpc-js keeps the process alive for it, also after
 * the caller has lost interest.
 */
const stepMs = 200;

/** Limits of {@link waitForConnection}. */
export interface ConnectionWait {
  /** Maximum time, milliseconds. */
  readonly limitMs: number;
  /** Ends the wait. */
  readonly signal: AbortSignal;
  /** Whether the channel is closed; true before its close is called. */
  readonly isClosed: () => boolean;
}

/**
 * Resolves to true as soon as a channel is connected, to false after the limit, when the signal aborts or when the channel is
 * closed. In contrast to `waitForReady` of grpc-js it never asks a closed channel for its state, which would connect it
 * again, and leaves no long timer behind.
 */
export function waitForConnection(
  channel: ChannelInterface,
  { limitMs, signal, isClosed }: ConnectionWait,
): Promise<boolean> {
  const endsAt = systemClock.monotonic() + limitMs;
  return new Promise((resolve) => {
    const finish = (is: boolean): void => {
      signal.removeEventListener('abort', abort);
      resolve(is);
    };
    const abort = (): void => finish(false);
    signal.addEventListener('abort', abort, { once: true });
    const check = (): void => {
      if (signal.aborted || isClosed()) return finish(false);
      const state = channel.getConnectivityState(true);
      const leftMs = endsAt - systemClock.monotonic();
      if (state === connectivityState.READY) return finish(true);
      if (state === connectivityState.SHUTDOWN || leftMs <= 0) return finish(false);
      const deadline = systemClock.now() + Math.min(stepMs, leftMs);
      channel.watchConnectivityState(state, deadline, check);
    };
    check();
  });
}
