import { createServer, type RequestListener, type Server } from 'node:http';
import { createServer as createTlsServer, Server as TlsServer } from 'node:https';
import type { TransportOptions } from '../transport/transport-options.js';

/** Maximum time in milliseconds until a whole request has arrived; the one for headers is shorter. */
const requestTimeoutMs = 30_000;
const headersTimeoutMs = 10_000;
/** Interval of the check for expired connections. */
const overdueMs = 5_000;

/** The HTTP server under fastify, with timeouts of requests, readers of answers and handshakes. */
export function httpServer(
  handler: RequestListener,
  { bounds, tls }: Pick<TransportOptions, 'bounds' | 'tls'>,
): Server {
  const times = {
    headersTimeout: headersTimeoutMs,
    requestTimeout: requestTimeoutMs,
    connectionsCheckingInterval: overdueMs,
    keepAliveTimeout: bounds.idleMs,
  };
  const handshake = { handshakeTimeout: bounds.silentMs };
  const server = tls
    ? createTlsServer({ ...times, ...handshake, ...tls.serverOptions }, handler)
    : createServer(times, handler);
  // Also closes a connection whose client does not read: on a healthy stream, events are written far more often.
  server.timeout = bounds.idleMs;
  if (server instanceof TlsServer) tls?.follow(server);
  return server;
}
