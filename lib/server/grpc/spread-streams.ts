import type { ServerHttp2Stream } from 'node:http2';
import type { Server } from '@grpc/grpc-js';
import type { CallPace } from './call-pace.js';

/** The handler of grpc-js for a new stream, which creates its call. */
type StreamHandler = (interceptors: unknown, stream: ServerHttp2Stream, headers: unknown) => void;

/**
 * Spreads the calls of streams that one read brings over turns of the event loop. grpc-js prepares the call of a stream
 * as soon as Node.js reports the stream, which is more than half of the work of a call that is refused. Set before the
 * server accepts connections.
 * @returns false if grpc-js has changed: then the calls of a read start in one turn
 */
export function spreadStreams(server: Server, pace: CallPace<object>): boolean {
  // Not a public API of grpc-js.
  const hooks = server as unknown as { _streamHandler?: StreamHandler };
  const handle = hooks._streamHandler?.bind(server);
  if (!handle) return false;
  hooks._streamHandler = (interceptors, stream, headers) => {
    const { session } = stream;
    if (!session) return;
    // grpc-js listens for errors only once the call starts.
    stream.on('error', () => undefined);
    pace.begin(session, () => {
      // The client may have reset the stream meanwhile.
      if (!stream.destroyed && !stream.closed) handle(interceptors, stream, headers);
    });
  };
  return true;
}
