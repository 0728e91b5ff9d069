import type { Server, Socket } from 'node:net';
import type { Clock, Logger, Metrics } from '../base/index.js';

/** Bounds on the connections of each transport. */
export interface ConnectionBounds {
  /** Connections at once; more are closed as soon as they come. */
  readonly max: number;
  /** A connection without a call is closed after this many milliseconds. */
  readonly idleMs: number;
  /** A connection that has sent nothing is closed after this many milliseconds. */
  readonly silentMs: number;
}

/** What an API server keeps to when it is told nothing else. */
export const connectionDefaults: ConnectionBounds = {
  max: 2_000,
  idleMs: 300_000,
  silentMs: 10_000,
};

/** Refused connections are logged at most this often. */
const tellMs = 60_000;

/** Ports of {@link boundConnections}. */
export interface ConnectionPorts {
  readonly bounds: ConnectionBounds;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly metrics: Metrics;
}

/**
 * Bounds and counts the connections of a server that does not listen yet. What is idle after its first bytes
 * is left to the protocol: it alone knows whether a call is open.
 *
 * @returns closes all connections that are still open
 */
export function boundConnections(
  server: Server,
  transport: 'grpc' | 'rest',
  ports: ConnectionPorts,
): () => void {
  const { bounds, clock, logger, metrics } = ports;
  const gauge = metrics.gauge({
    name: 'api_connections',
    help: 'Open connections of clients',
    labels: ['transport'],
  });
  const closed = metrics.counter({
    name: 'api_connections_closed_total',
    help: 'Connections that the server closed, by why: too many, or nothing was sent',
    labels: ['transport', 'cause'],
  });
  const open = new Set<Socket>();
  let toldAt = -Infinity;
  server.maxConnections = bounds.max;
  server.on('drop', () => {
    closed.inc({ transport, cause: 'bound' });
    const now = clock.monotonic();
    if (now - toldAt < tellMs) return;
    toldAt = now;
    logger.warn('connections are refused: as many as allowed are open', {
      transport,
      max: bounds.max,
    });
  });
  server.on('connection', (socket: Socket) => {
    open.add(socket);
    gauge.set({ transport }, open.size);
    const cut = (): void => {
      if (socket.bytesRead > 0) return;
      closed.inc({ transport, cause: 'silent' });
      socket.destroy();
    };
    const silent = clock.setTimer(cut, bounds.silentMs, { background: true });
    socket.once('close', () => {
      silent.cancel();
      open.delete(socket);
      gauge.set({ transport }, open.size);
    });
  });
  gauge.set({ transport }, 0);
  return () => {
    for (const socket of open) socket.destroy();
  };
}
