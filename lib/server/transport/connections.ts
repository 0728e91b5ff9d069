import type { Server, Socket } from 'node:net';
import type { Clock, Counter, Gauge, Logger, Metrics } from '../../base/index.js';

/** Limits of the connections of each transport. */
export interface ConnectionBounds {
  /** Maximum number of concurrent connections; further ones are closed at once. */
  readonly max: number;
  /**
   * A connection without a call is closed after this many milliseconds. So is a REST connection whose client reads
   * nothing for as long; over gRPC, only the complete answer that is not read is dropped.
   */
  readonly idleMs: number;
  /**
   * A connection that has sent nothing, or has not completed its TLS handshake, is closed after this many
   * milliseconds.
   */
  readonly silentMs: number;
}

/** The default limits of an API server. */
export const connectionDefaults: ConnectionBounds = {
  max: 2_000,
  idleMs: 300_000,
  silentMs: 10_000,
};

/** Minimum interval between log lines about refused connections. */
const logMs = 60_000;

/** Dependencies of {@link Connections}. */
export interface ConnectionPorts {
  readonly bounds: ConnectionBounds;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly metrics: Metrics;
}

/**
 * The connections of a server, bounded and counted. Idle connections are left to the protocol after their first bytes:
 * it alone knows whether a call is open.
 */
export class Connections {
  readonly #transport: 'grpc' | 'rest';
  readonly #ports: ConnectionPorts;
  /** The open connections with their names. */
  readonly #open = new Map<Socket, string>();
  /** The number of uses of each connection, by its name. */
  readonly #uses = new Map<string, number>();
  #draining = false;
  readonly #gauge: Gauge;
  readonly #closed: Counter;
  #loggedAt = -Infinity;

  constructor(server: Server, transport: 'grpc' | 'rest', ports: ConnectionPorts) {
    const { bounds, metrics } = ports;
    this.#transport = transport;
    this.#ports = ports;
    this.#gauge = metrics.gauge({
      name: 'api_connections',
      help: 'Open connections of clients',
      labels: ['transport'],
    });
    this.#closed = metrics.counter({
      name: 'api_connections_closed_total',
      help: 'Connections that the server closed, by cause: too many connections, or no data received',
      labels: ['transport', 'cause'],
    });
    server.maxConnections = bounds.max;
    server.on('drop', () => this.#refused());
    server.on('connection', (socket: Socket) => {
      // Connections of other listeners count too, and the server knows only its own.
      if (this.admits(socket)) this.#take(socket);
    });
    this.#gauge.set({ transport }, 0);
  }

  /**
   * Checks that a new connection is within the maximum. Returns whether it was admitted; closes it otherwise.
   */
  admits(socket: Socket): boolean {
    if (this.#open.size < this.#ports.bounds.max) return true;
    this.#refused();
    socket.destroy();
    return false;
  }

  /**
   * Starts a use of a connection, plain or TLS, that must finish before the server stops. Returns a function that
   * ends the use.
   */
  use(socket: Socket): () => void {
    const name = nameOf(socket);
    this.#uses.set(name, (this.#uses.get(name) ?? 0) + 1);
    return () => {
      const left = (this.#uses.get(name) ?? 0) - 1;
      if (left > 0) this.#uses.set(name, left);
      else this.#uses.delete(name);
      if (left <= 0 && this.#draining) socket.destroySoon();
    };
  }

  /** Closes connections that are not in use now, and every other connection when its last use ends. */
  drain(): void {
    this.#draining = true;
    for (const [socket, name] of this.#open)
      if (socket.bytesRead === 0 || !this.#uses.has(name)) socket.destroy();
  }

  /** Closes all connections. */
  close(): void {
    for (const socket of this.#open.keys()) socket.destroy();
  }

  #take(socket: Socket): void {
    const transport = this.#transport;
    const name = nameOf(socket);
    this.#open.set(socket, name);
    this.#gauge.set({ transport }, this.#open.size);
    const cut = (): void => {
      if (socket.bytesRead > 0) return;
      this.#closed.inc({ transport, cause: 'silent' });
      socket.destroy();
    };
    const { clock, bounds } = this.#ports;
    const silent = clock.setTimer(cut, bounds.silentMs, { background: true });
    socket.once('close', () => {
      silent.cancel();
      this.#open.delete(socket);
      this.#uses.delete(name);
      this.#gauge.set({ transport }, this.#open.size);
    });
  }

  #refused(): void {
    const transport = this.#transport;
    const { bounds, clock, logger } = this.#ports;
    this.#closed.inc({ transport, cause: 'bound' });
    const now = clock.monotonic();
    if (now - this.#loggedAt < logMs) return;
    this.#loggedAt = now;
    logger.warn('connections are refused: the maximum is open', {
      transport,
      max: bounds.max,
    });
  }
}

/** The name of a connection; it is the same for the TLS socket on it. */
function nameOf({ remoteAddress, remotePort }: Socket): string {
  return `${remoteAddress}/${remotePort}`;
}
