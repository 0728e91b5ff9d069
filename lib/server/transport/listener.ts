import { lookup } from 'node:dns/promises';
import { createServer, type Server, Server as SocketServer } from 'node:net';
import { systemClock } from '../../base/index.js';
import type { Connections } from './connections.js';

/** Resolves a host name to its addresses. */
export type AddressLookup = (host: string) => Promise<readonly string[]>;

const systemLookup: AddressLookup = async (host) =>
  (await lookup(host, { all: true })).map(({ address }) => address);

const absentCodes = new Set(['EADDRNOTAVAIL', 'EAFNOSUPPORT']);

/**
 * Listens on one address, or on each address of `localhost`, which often has two. The limits of connections apply to
 * all of them together.
 */
export class Listener {
  readonly #server: Server;
  readonly #connections: Connections;
  readonly #lookup: AddressLookup;
  readonly #others: Server[] = [];

  constructor(server: Server, connections: Connections, addressLookup = systemLookup) {
    this.#server = server;
    this.#connections = connections;
    this.#lookup = addressLookup;
  }

  /** Starts listening; resolves to the port. @throws the system's error if an address can't be used */
  async listen(host: string, port: number): Promise<number> {
    const [first = host, ...others] = host === 'localhost' ? await this.#addresses(host) : [host];
    const bound = await listening(this.#server, first, port);
    for (const address of others) {
      const other = createServer({ noDelay: true }, (socket) => {
        if (this.#connections.admits(socket)) this.#server.emit('connection', socket);
      });
      try {
        await listening(other, address, bound);
        this.#others.push(other);
      } catch (error) {
        // The machine does not have this address: skip it.
        if (absentCodes.has((error as NodeJS.ErrnoException).code ?? '')) continue;
        await this.close(0);
        throw error;
      }
    }
    return bound;
  }

  /** Accepts no more connections. Resolves when all are closed, after `graceMs` at the latest. */
  async close(graceMs: number): Promise<void> {
    const cut = systemClock.setTimer(() => this.#connections.close(), graceMs);
    await Promise.all([this.#server, ...this.#others].map(closed));
    cut.cancel();
  }

  async #addresses(host: string): Promise<readonly string[]> {
    const addresses = await this.#lookup(host).catch(() => []);
    return [...new Set(addresses)];
  }
}

function listening(server: Server, host: string, port: number): Promise<number> {
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen({ host, port }, () => {
      server.off('error', reject);
      const address = server.address();
      resolve(typeof address === 'object' && address !== null ? address.port : 0);
    });
  });
}

/** Closes the listener. The close of an HTTP server would cut answers that were written but not sent. */
function closed(server: Server): Promise<void> {
  return new Promise((resolve) => {
    SocketServer.prototype.close.call(server, () => resolve());
  });
}
