import type { ClientDuplexStream, ClientReadableStream, ServiceError } from '@grpc/grpc-js';
import { StatusError } from '../../base/index.js';
import { callError } from './call-error.js';

/** A call with several answers. */
export type AnsweringCall = ClientReadableStream<Buffer> | ClientDuplexStream<Buffer, Buffer>;

/** When a stream ends early. */
export interface StreamLimits {
  /** Ends the stream without an error. */
  readonly signal: AbortSignal;
  /** Time for the connection, milliseconds. */
  readonly limitMs: number;
  /** Resolves to true as soon as the client is connected, to false after `limitMs` or when `until` aborts. */
  readonly connected: (until: AbortSignal) => Promise<boolean>;
}

/**
 * The answers of a call. Cancels it if no connection is established in time: a peer that accepts connections and
 * sends nothing would hold it forever. A connected stream may be idle for any time.
 * @throws StatusError as the server sent it, or Unavailable without a connection
 */
export async function* answersOf(
  call: AnsweringCall,
  { signal, limitMs, connected }: StreamLimits,
): AsyncIterable<Buffer> {
  const cancel = (): void => call.cancel();
  signal.addEventListener('abort', cancel, { once: true });
  const ended = new AbortController();
  let isUnconnected = false;
  void connected(ended.signal).then((is) => {
    if (is || ended.signal.aborted) return;
    isUnconnected = true;
    call.cancel();
  });
  try {
    for await (const answer of call) yield answer as Buffer;
  } catch (error) {
    if (signal.aborted) return;
    if (!isUnconnected) throw callError(error as ServiceError);
    const message = `no connection within ${limitMs / 1000} s`;
    throw new StatusError({ code: 'Unavailable', reason: 'Unavailable', message });
  } finally {
    ended.abort();
    signal.removeEventListener('abort', cancel);
    call.cancel();
  }
}
