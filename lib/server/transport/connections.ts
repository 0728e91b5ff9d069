import type { Server, Socket } from 'node:net';
import type { Clock, Counter, Gauge, Logger, Metrics } from '../../base/index.js';

/** Bounds on the connections of each transport. */
export interface ConnectionBounds {
  /** Concurrent connections; further ones are closed at once. */
  readonly max: number;
  /** A connection without a call, or one that reads nothing of its answer, is closed after this many milliseconds. */
  readonly idleMs: number;
  /** A connection that has sent nothing, or has not agreed on TLS, is closed after this many milliseconds. */
  readonly silentMs: number;
}

/** The default limits of an API server. */
export const connectionDefaults: ConnectionBounds = {
  max: 2_000,
  idleMs: 300_000,
  silentMs: 10_000,
};

/** Refused connections are logged at most this often. */
const tellMs = 60_000;

/** Dependencies of {@link Connections}. */
export interface ConnectionPorts {
  readonly bounds: ConnectionBounds;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly metrics: Metrics;
}

/**
 * The connections of a server that does not listen yet, bounded and counted. What is idle after its first
 * bytes is left to the protocol: it alone knows whether a call is open.
 */
export class Connections {
  readonly #transport: 'grpc' | 'rest';
  readonly #ports: ConnectionPorts;
  /** With their names. */
  readonly #open = new Map<Socket, string>();
  /** By the name of a connection: how often it is in use. */
  readonly #uses = new Map<string, number>();
  #draining = false;
  readonly #gauge: Gauge;
  readonly #closed: Counter;
  #toldAt = -Infinity;

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
      // Those that came to another listener count too, and the server knows its own alone.
      if (this.admits(socket)) this.#take(socket);
    });
    this.#gauge.set({ transport }, 0);
  }

  /** Refuses one that came to another listener of the same server; true when it may be taken. */
  admits(socket: Socket): boolean {
    if (this.#open.size < this.#ports.bounds.max) return true;
    this.#refused();
    socket.destroy();
    return false;
  }

  /**
   * Something begins on a connection, given as it is or within TLS, that is to be finished before the server
   * ends. Returns what tells its end.
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

  /** Closes those that are not in use, and each other one when its last use ends. */
  drain(): void {
    this.#draining = true;
    for (const [socket, name] of this.#open)
      if (socket.bytesRead === 0 || !this.#uses.has(name)) socket.destroy();
  }

  /** Closes all. */
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
    if (now - this.#toldAt < tellMs) return;
    this.#toldAt = now;
    logger.warn('connections are refused: the maximum is open', {
      transport,
      max: bounds.max,
    });
  }
}

/** The same within TLS. */
function nameOf({ remoteAddress, remotePort }: Socket): string {
  return `${remoteAddress}/${remotePort}`;
}
