import {
  backoffDelayMs,
  type Clock,
  hasCode,
  messageOf,
  type Random,
  sleep,
  systemClock,
  systemRandom,
} from 'kedge/objects';
import { type JsonObject, textOf } from 'kedge/rpc';

/** A stream whose answers have a `position`. */
export interface ResumableStream {
  /** Starts after a position; the empty position is the beginning. */
  readonly open: (after: string) => AsyncIterable<JsonObject>;
  readonly signal: AbortSignal;
  /** Called once per outage of the server. */
  readonly onLost: (why: string) => void;
}

const backoff = { baseMs: 100, maxMs: 5_000, jitter: 0.5 };

/**
 * The answers of a stream, each once, resumed after outages of the server until the stream ends or the signal aborts.
 * The caller must check that the server is reachable at the start.
 * @throws any error of the stream other than Unavailable
 */
export async function* resumed(
  { open, signal, onLost }: ResumableStream,
  ports: { readonly clock: Clock; readonly random: Random } = {
    clock: systemClock,
    random: systemRandom,
  },
): AsyncIterable<JsonObject> {
  let after = '';
  for (let failures = 0; !signal.aborted; failures += 1) {
    try {
      for await (const answer of open(after)) {
        failures = 0;
        after = textOf(answer, 'position') || after;
        yield answer;
      }
      return;
    } catch (error) {
      if (!hasCode(error, 'Unavailable')) throw error;
      if (failures === 0) onLost(messageOf(error));
      await sleep(ports.clock, backoffDelayMs(backoff, failures, ports.random), signal);
    }
  }
}
