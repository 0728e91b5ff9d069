import { type AddressInfo, createServer, type Server, type Socket } from 'node:net';
import { expect } from 'chai';
import { StatusError } from '../../base/index.js';
import { type ApiObject, kindOf } from '../../object/index.js';
import { accessControl, ApiServer, describeKinds, mount } from '../../server/index.js';
import { MemoryEngine, openStore } from '../../store/index.js';
import { ApiClient } from '../index.js';

const lamps = kindOf<ApiObject>()({
  kind: 'Lamp',
  plural: 'lamps',
  scope: 'Cluster',
  statusFields: [],
});
const api = describeKinds('house.v1', [mount(lamps, {})]);
const timeoutMs = 300;

describe('a server that accepts connections and does not answer', () => {
  const sockets = new Set<Socket>();
  let silent: Server;
  let server: string;
  beforeEach(async () => {
    silent = createServer((socket) => {
      sockets.add(socket.on('error', () => undefined));
      socket.resume();
    });
    await new Promise<void>((resolve) => silent.listen(0, '127.0.0.1', resolve));
    server = `127.0.0.1:${(silent.address() as AddressInfo).port}`;
  });
  afterEach(() => {
    for (const socket of sockets) socket.destroy();
    silent.close();
  });

  /** The error of a stream of the silent server. */
  const failed = async (): Promise<unknown> => {
    using client = new ApiClient({ ...api, server, token: 't', timeoutMs });
    const { signal } = new AbortController();
    try {
      for await (const _ of client.stream('LampService.Watch', {}, signal)) continue;
    } catch (error) {
      return error;
    }
    return undefined;
  };

  it('delays a read by its deadline once, not for each attempt', async () => {
    using client = new ApiClient({ ...api, server, token: 't', timeoutMs, retry: { attempts: 4 } });
    let repeated = 0;
    const onLostAnswer = (): void => void (repeated += 1);
    const error: unknown = await client
      .call('LampService.List', {}, { onLostAnswer })
      .catch((thrown: unknown) => thrown);
    expect(StatusError.from(error).code).to.equal('DeadlineExceeded');
    expect(repeated).to.equal(0);
  });

  it('fails a stream after the time limit for connecting', async () => {
    const error = StatusError.from(await failed());
    expect([error.code, error.message]).to.deep.equal([
      'Unavailable',
      'no connection within 0.3 s',
    ]);
  });

  it('does not limit a connected stream to another server, which may be idle for longer', async () => {
    const store = await openStore({ engine: new MemoryEngine() });
    const ann = {
      subject: 'ann',
      kind: 'user',
      policies: [],
      tokenId: '',
      expiresAt: undefined,
    } as const;
    const authenticator = { authenticate: () => Promise.resolve(ann) };
    const served = new ApiServer({
      store,
      ...api,
      authenticator,
      authorizer: accessControl(() => true),
    });
    const free = { host: '127.0.0.1', port: 0 };
    const { grpc } = await served.listen({ grpc: free, rest: free });
    const client = new ApiClient({ ...api, server: `127.0.0.1:${grpc}`, token: 't', timeoutMs });
    try {
      const stop = new AbortController();
      // Created once the stream to the silent server has failed, so the time limit has passed.
      const creating = failed().then(() => store.create(lamps, { name: 'late' }));
      const seen: unknown[] = [];
      for await (const answer of client.stream('LampService.Watch', {}, stop.signal)) {
        seen.push(answer);
        stop.abort();
      }
      await creating;
      expect(seen).to.have.length(1);
    } finally {
      client.close();
      await served.close(0);
      await store.close();
    }
  });
}).timeout(60_000);
