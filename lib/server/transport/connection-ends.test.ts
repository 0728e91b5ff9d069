import { execFileSync } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { type IncomingMessage, request } from 'node:http';
import { connect, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { silentLogger, systemClock } from '../../base/index.js';
import { type ApiObject, kindOf } from '../../object/index.js';
import { MemoryEngine, type ObjectStore, openStore } from '../../store/index.js';
import { eventually, RecordingMetrics } from '../../testing/index.js';
import { accessControl, ApiServer, describeKinds, mount, TlsSource } from '../index.js';

const orders = kindOf<ApiObject & { readonly note?: string }>()({
  kind: 'Order',
  plural: 'orders',
  scope: 'Namespaced',
  statusFields: [],
});
const api = describeKinds('shop.v1', [mount(orders, { note: 'string' })]);
const local = { host: '127.0.0.1', port: 0 };
const ann = {
  subject: 'ann',
  kind: 'user',
  policies: [],
  tokenId: '',
  expiresAt: undefined,
} as const;
const path = '/v1/namespaces/default/orders';
const longMs = 60_000;

describe('ends of connections of an API server', () => {
  let folder: string;
  let tls: TlsSource;
  let store: ObjectStore;
  let server: ApiServer | undefined;
  let sockets: Socket[];
  let metrics: RecordingMetrics;
  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'kedge-tls-'));
    const [certFile, keyFile] = [join(folder, 'cert.pem'), join(folder, 'key.pem')];
    const how = 'req -x509 -newkey rsa:2048 -nodes -days 1 -subj /CN=localhost'.split(' ');
    execFileSync('openssl', [...how, '-keyout', keyFile, '-out', certFile], { stdio: 'ignore' });
    tls = await TlsSource.open({ certFile, keyFile }, systemClock, silentLogger);
  });
  after(async () => {
    tls.close();
    await rm(folder, { recursive: true, force: true });
  });
  beforeEach(async () => {
    store = await openStore({ engine: new MemoryEngine() });
    sockets = [];
    metrics = new RecordingMetrics();
  });
  afterEach(async () => {
    for (const socket of sockets) socket.destroy();
    await server?.close(0);
    await store.close();
  });

  type Options = ConstructorParameters<typeof ApiServer>[0];
  async function listening(options: Partial<Options>): Promise<{ grpc: number; rest: number }> {
    const authenticator = { authenticate: () => Promise.resolve(ann) };
    const authorizer = accessControl(() => true);
    server = new ApiServer({ store, ...api, metrics, authenticator, authorizer, ...options });
    return server.listen({ grpc: local, rest: local });
  }
  async function connected(port: number, bytes: string): Promise<Socket> {
    const socket = connect(port, '127.0.0.1', () => socket.write(bytes, 'latin1'));
    sockets.push(socket);
    socket.on('error', () => undefined);
    socket.on('data', () => undefined);
    await new Promise((resolve) => socket.once('connect', resolve));
    return socket;
  }
  const open = (transport: string): number => metrics.value('api_connections', { transport });

  for (const transport of ['grpc', 'rest'] as const) {
    it(`a stop over ${transport} does not wait for peers that never finish their TLS handshake`, async () => {
      // The timeout of silent connections must not be what ends them.
      const port = (await listening({ tls, connections: { silentMs: longMs } }))[transport];
      await connected(port, '');
      await connected(port, '\x16');
      await connected(port, '\x16\x03\x01\x02\x00\x01\x00\x01');
      await eventually('the connections', () => open(transport) === 3);
      let ended = false;
      void server?.close(longMs).then(() => (ended = true));
      await eventually('the end', () => ended);
    });

    it(`a TLS handshake over ${transport} is limited to the timeout of silent connections`, async () => {
      const port = (await listening({ tls, connections: { silentMs: 300 } }))[transport];
      const slow = await connected(port, '\x16\x03\x01\x02\x00\x01\x00\x01');
      await eventually('the slow one to be closed', () => slow.closed);
    });
  }

  it('a stop over rest lets a call in progress finish, and then closes its connection', async () => {
    let onReached = (): void => undefined;
    const reached = new Promise<void>((resolve) => (onReached = resolve));
    let release = (): void => undefined;
    const released = new Promise<void>((resolve) => (release = resolve));
    const beforeCommit = (): Promise<void> => {
      onReached();
      return released;
    };
    const { rest } = await listening({ beforeCommit });
    const idle = await connected(rest, `GET ${path} HTTP/1.1\r\nhost: x\r\n\r\n`);
    await new Promise((resolve) => idle.once('data', resolve));
    const headers = { 'content-type': 'application/json', authorization: 'Bearer t' };
    const answer = new Promise<IncomingMessage>((resolve, reject) => {
      const call = request({ port: rest, method: 'POST', path, headers }, resolve);
      call.on('error', reject);
      call.end('{"name":"first"}');
    });
    await reached;
    let ended = false;
    void server?.close(longMs).then(() => (ended = true));
    await eventually('the idle one to be closed', () => idle.closed);
    expect(ended).to.equal(false);
    release();
    const { statusCode } = await answer.then((given) => given.resume());
    expect(statusCode).to.equal(200);
    await eventually('the end', () => ended);
  });

  it('a stop over rest cuts a call that does not finish in time, and an answer that is not read', async () => {
    const note = 'y'.repeat(500_000);
    for (let n = 0; n < 40; n += 1)
      await store.create(orders, { name: `o${n}`, namespace: 'default', note });
    let isReached = false;
    const beforeCommit = (): Promise<void> => {
      isReached = true;
      return new Promise<void>(() => undefined);
    };
    const { rest } = await listening({ beforeCommit });
    const unread = await connected(rest, `GET ${path} HTTP/1.1\r\nhost: x\r\n\r\n`);
    unread.pause();
    const body = '{"name":"never"}';
    const post = `POST ${path} HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\ncontent-length: ${body.length}\r\n\r\n${body}`;
    await connected(rest, post);
    await eventually('both', () => open('rest') === 2 && isReached);
    let ended = false;
    void server?.close(100).then(() => (ended = true));
    await eventually('the end', () => ended);
  });

  it('a client that does not read its answer is disconnected after the idle time', async () => {
    const note = 'y'.repeat(500_000);
    for (let n = 0; n < 40; n += 1)
      await store.create(orders, { name: `o${n}`, namespace: 'default', note });
    const { rest } = await listening({ connections: { idleMs: 500 } });
    const unread = await connected(rest, `GET ${path} HTTP/1.1\r\nhost: x\r\n\r\n`);
    unread.pause();
    await eventually('the connection', () => open('rest') === 1);
    await eventually('it to be closed', () => open('rest') === 0);
  });
});
