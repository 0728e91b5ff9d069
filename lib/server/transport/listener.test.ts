import { createServer, connect, type Server, type Socket } from 'node:net';
import { expect } from 'chai';
import { systemClock, silentLogger } from '../../base/index.js';
import { eventually, RecordingMetrics } from '../../testing/index.js';
import { connectionDefaults, Connections } from './connections.js';
import { Listener } from './listener.js';

describe('a listener', () => {
  const sockets: Socket[] = [];
  let listener: Listener | undefined;
  afterEach(async () => {
    for (const socket of sockets.splice(0)) socket.destroy();
    await listener?.close(0);
  });

  function made(addresses: readonly string[], max: number, taken: Socket[] = []): Listener {
    const server: Server = createServer((socket) => void taken.push(socket));
    const metrics = new RecordingMetrics();
    const bounds = { ...connectionDefaults, max };
    const ports = { bounds, clock: systemClock, logger: silentLogger, metrics };
    const connections = new Connections(server, 'rest', ports);
    listener = new Listener(server, connections, () => Promise.resolve(addresses));
    return listener;
  }
  function probe(host: string, port: number): Socket {
    const socket = connect(port, host);
    socket.on('error', () => undefined);
    sockets.push(socket);
    return socket;
  }

  it('accepts connections on each address of localhost, with one limit for all', async () => {
    const taken: Socket[] = [];
    const port = await made(['127.0.0.1', '127.0.0.2'], 2, taken).listen('localhost', 0);
    probe('127.0.0.1', port);
    probe('127.0.0.2', port);
    await eventually('both', () => taken.length === 2);
    const more = [probe('127.0.0.2', port), probe('127.0.0.1', port)];
    await eventually('more to be refused', () => more.every((socket) => socket.closed));
    expect(taken.filter((socket) => !socket.destroyed).length).to.equal(2);
    await listener?.close(0);
    await eventually('all to be closed', () => sockets.every((socket) => socket.closed));
  });

  it('skips an address that the machine does not have', async () => {
    const port = await made(['127.0.0.1', '192.0.2.1'], 2).listen('localhost', 0);
    const one = probe('127.0.0.1', port);
    await eventually('a connection', () => one.readyState === 'open');
  });

  it('fails, and listens nowhere, if the port is in use on one address', async () => {
    const other = createServer();
    await new Promise<void>((resolve) => other.listen(0, '127.0.0.2', resolve));
    try {
      const { port } = other.address() as { readonly port: number };
      const failed = await made(['127.0.0.1', '127.0.0.2'], 2)
        .listen('localhost', port)
        .then(String, String);
      expect(failed).to.contain('EADDRINUSE');
      const one = probe('127.0.0.1', port);
      await eventually('no listener to exist', () => one.closed);
    } finally {
      other.close();
    }
  });
});
