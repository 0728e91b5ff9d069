import { connect, type Socket } from 'node:net';
import { expect } from 'chai';
import { type ApiObject, kindOf } from '../object/index.js';
import { MemoryEngine, type ObjectStore, openStore } from '../store/index.js';
import { eventually, FakeClock, RecordingLogger, RecordingMetrics } from '../testing/index.js';
import { ApiServer, describeKinds, mount } from './index.js';

const orders = kindOf<ApiObject & { readonly quantity: number }>()({
  kind: 'Order',
  plural: 'orders',
  scope: 'Namespaced',
  statusFields: [],
});
const api = describeKinds('shop.v1', [mount(orders, { quantity: 'integer' })]);
const local = { host: '127.0.0.1', port: 0 };
const http2Preface = Buffer.concat([
  Buffer.from('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n'),
  Buffer.from([0, 0, 0, 4, 0, 0, 0, 0, 0]),
]);
const firstBytes = {
  grpc: http2Preface,
  rest: Buffer.from('GET /v1/namespaces/default/orders HTTP/1.1\r\nhost: x\r\n\r\n'),
} as const;

/** A connection that a test looks at. */
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
    it(`over ${transport} that send nothing are closed and counted, others are not`, async () => {
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

    it(`over ${transport} are at most as many as allowed, and one more is taken when one goes`, async () => {
      const logger = new RecordingLogger();
      const port = (await listening({ max: 3 }, logger))[transport];
      const before = closedFor(transport, 'bound');
      const first = [1, 2, 3].map(() => probe(port, firstBytes[transport]));
      await eventually('three connections', () => first.every((p) => p.received > 0));
      const refused = [probe(port), probe(port)];
      await eventually('both to be closed', () => refused.every((p) => p.closed));
      expect(closedFor(transport, 'bound') - before).to.equal(2);
      expect(open(transport)).to.equal(3);
      const told = logger.lines.filter((line) => line.message.includes('refused'));
      expect(told.map((line) => line.fields)).to.deep.equal([{ transport, max: 3 }]);
      first[0]![Symbol.dispose]();
      await eventually('a free place', () => open(transport) === 2);
      const next = probe(port, firstBytes[transport]);
      await eventually('an answer', () => next.received > 0);
      expect(first.slice(1).map((p) => p.closed)).to.deep.equal([false, false]);
    });

    it(`over ${transport} without a call are closed after a while`, async () => {
      const port = (await listening({ idleMs: 200 }))[transport];
      const idle = probe(port, firstBytes[transport]);
      await eventually('an answer', () => idle.received > 0);
      await eventually('it to be closed', () => idle.closed);
    });
  }

  it('that have sent nothing do not hold up the end of the server', async () => {
    const ports = await listening({});
    const waiting = [probe(ports.grpc), probe(ports.rest)];
    await eventually('both', () => open('grpc') === 1 && open('rest') === 1);
    await server?.close(60_000);
    await eventually('both to be closed', () => waiting.every((p) => p.closed));
  });
});
