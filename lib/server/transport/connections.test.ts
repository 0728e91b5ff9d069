import { type ClientHttp2Session, connect as connectHttp2 } from 'node:http2';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { expect } from 'chai';
import { type ApiObject, kindOf } from '../../object/index.js';
import { MemoryEngine, type ObjectStore, openStore } from '../../store/index.js';
import { eventually, FakeClock, RecordingLogger, RecordingMetrics } from '../../testing/index.js';
import { accessControl, ApiServer, describeKinds, mount } from '../index.js';

const orders = kindOf<ApiObject & { readonly quantity: number; readonly note?: string }>()({
  kind: 'Order',
  plural: 'orders',
  scope: 'Namespaced',
  statusFields: [],
});
const api = describeKinds('shop.v1', [mount(orders, { quantity: 'integer', note: 'string' })]);
const local = { host: '127.0.0.1', port: 0 };
const anybody = {
  subject: 'ann',
  kind: 'user',
  policies: [],
  tokenId: '',
  expiresAt: undefined,
} as const;
const http2Preface = Buffer.concat([
  Buffer.from('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n'),
  Buffer.from([0, 0, 0, 4, 0, 0, 0, 0, 0]),
]);
const firstBytes = {
  grpc: http2Preface,
  rest: Buffer.from('GET /v1/namespaces/default/orders HTTP/1.1\r\nhost: x\r\n\r\n'),
} as const;

/** A connection under test. */
class Probe {
  readonly #socket: Socket;
  connected = false;
  closed = false;
  received = 0;

  constructor(port: number, first?: Buffer) {
    this.#socket = connect(port, '127.0.0.1', () => {
      this.connected = true;
      if (first) this.#socket.write(first);
    });
    this.#socket.on('error', () => undefined);
    this.#socket.on('data', (bytes) => (this.received += bytes.length));
    this.#socket.on('close', () => (this.closed = true));
  }

  [Symbol.dispose](): void {
    this.#socket.destroy();
  }
}

/** A proxy to a port that reads only the first bytes of an answer. */
async function unreadAfter(
  port: number,
  bytes: number,
): Promise<Disposable & { readonly port: number; stopped(): boolean }> {
  let far: Socket | undefined;
  const relay = createServer((near) => {
    let left = bytes;
    far = connect(port, '127.0.0.1').on('error', () => undefined);
    near.on('error', () => undefined).pipe(far);
    far.on('data', (part) => {
      near.write(part);
      left -= part.length;
      if (left <= 0) far?.pause();
    });
  });
  await new Promise<void>((resolve) => relay.listen(0, '127.0.0.1', resolve));
  return {
    port: (relay.address() as AddressInfo).port,
    stopped: () => far?.isPaused() === true,
    [Symbol.dispose]: () => {
      far?.destroy();
      relay.close();
    },
  };
}

/** Starts a watch with a window that covers all of it, so that only TCP blocks the server. */
function watchWithoutFlowControl(port: number): ClientHttp2Session {
  const window = 2 ** 31 - 1;
  const settings = { initialWindowSize: window };
  const session = connectHttp2(`http://127.0.0.1:${port}`, { settings });
  session.on('connect', () => session.setLocalWindowSize(window));
  session.on('error', () => undefined);
  const call = session.request({
    ':method': 'POST',
    ':path': '/shop.v1.OrderService/Watch',
    'content-type': 'application/grpc',
    te: 'trailers',
    authorization: 'Bearer t',
  });
  call.on('error', () => undefined);
  // A frame with the namespace, which is the first field.
  call.end(Buffer.from('\0\0\0\0\x09\x0a\x07default', 'latin1'));
  call.resume();
  return session;
}

describe('connections of an API server', () => {
  let store: ObjectStore;
  let server: ApiServer | undefined;
  let probes: Probe[];
  const clock = new FakeClock();
  const metrics = new RecordingMetrics();
  beforeEach(async () => {
    store = await openStore({ engine: new MemoryEngine() });
    probes = [];
  });
  afterEach(async () => {
    for (const probe of probes) probe[Symbol.dispose]();
    await server?.close(0);
    await store.close();
  });

  async function listening(
    connections: ConstructorParameters<typeof ApiServer>[0]['connections'],
    logger = new RecordingLogger(),
  ): Promise<{ grpc: number; rest: number }> {
    server = new ApiServer({
      store,
      ...api,
      clock,
      metrics,
      logger,
      connections: connections ?? {},
      authenticator: { authenticate: () => Promise.resolve(anybody) },
      authorizer: accessControl(() => true),
    });
    return server.listen({ grpc: local, rest: local });
  }
  function probe(port: number, first?: Buffer): Probe {
    const made = new Probe(port, first);
    probes.push(made);
    return made;
  }
  const open = (transport: string): number => metrics.value('api_connections', { transport });
  const closedFor = (transport: string, cause: string): number =>
    metrics.value('api_connections_closed_total', { transport, cause });

  for (const transport of ['grpc', 'rest'] as const) {
    it(`over ${transport} that send nothing are closed and counted, others stay open`, async () => {
      const port = (await listening({}))[transport];
      const before = closedFor(transport, 'silent');
      const silent = [probe(port), probe(port)];
      const talking = probe(port, firstBytes[transport]);
      await eventually('an answer', () => talking.received > 0 && open(transport) === 3);
      await clock.advance(9_999);
      expect(silent.map((s) => s.closed)).to.deep.equal([false, false]);
      await clock.advance(1);
      await eventually('both to be closed', () => silent.every((s) => s.closed));
      expect(closedFor(transport, 'silent') - before).to.equal(2);
      await eventually('the count of those left', () => open(transport) === 1);
      expect(talking.closed).to.equal(false);
    });

    it(`over ${transport} are at most as many as allowed, and another is accepted when one closes`, async () => {
      const logger = new RecordingLogger();
      const port = (await listening({ max: 3 }, logger))[transport];
      const before = closedFor(transport, 'bound');
      const first = [1, 2, 3].map(() => probe(port, firstBytes[transport]));
      await eventually('three connections', () => first.every((p) => p.received > 0));
      const refused = [probe(port), probe(port)];
      await eventually('both to be closed', () => refused.every((p) => p.closed));
      expect(closedFor(transport, 'bound') - before).to.equal(2);
      expect(open(transport)).to.equal(3);
      const refusals = logger.lines.filter((line) => line.message.includes('refused'));
      expect(refusals.map((line) => line.fields)).to.deep.equal([{ transport, max: 3 }]);
      first[0]![Symbol.dispose]();
      await eventually('a free place', () => open(transport) === 2);
      const next = probe(port, firstBytes[transport]);
      await eventually('an answer', () => next.received > 0);
      expect(first.slice(1).map((p) => p.closed)).to.deep.equal([false, false]);
    });

    it(`over ${transport} without a call are closed after the idle time`, async () => {
      const port = (await listening({ idleMs: 200 }))[transport];
      const idle = probe(port, firstBytes[transport]);
      await eventually('an answer', () => idle.received > 0);
      await eventually('it to be closed', () => idle.closed);
    });
  }

  it('whose peers do not read their answers do not delay the stop of the server', async () => {
    const note = 'y'.repeat(500_000);
    for (let n = 0; n < 40; n += 1) {
      const key = { name: `o${n}`, namespace: 'default' };
      await store.create(orders, { ...key, quantity: n, note });
    }
    const { grpc } = await listening({});
    using relay = await unreadAfter(grpc, 1_000_000);
    const asked = watchWithoutFlowControl(relay.port);
    try {
      await eventually('the peer to read no more', () => relay.stopped());
      let ended = false;
      void server?.close(100).then(() => (ended = true));
      await eventually('the end of the server', () => ended);
    } finally {
      asked.destroy();
    }
  });

  it('that have sent nothing do not delay the stop of the server', async () => {
    const ports = await listening({});
    const waiting = [probe(ports.grpc), probe(ports.rest)];
    await eventually('both', () => open('grpc') === 1 && open('rest') === 1);
    await server?.close(60_000);
    await eventually('both to be closed', () => waiting.every((p) => p.closed));
  });
});
