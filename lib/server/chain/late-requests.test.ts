import { once } from 'node:events';
import {
  type ClientHttp2Session,
  type ClientHttp2Stream,
  connect as connectHttp2,
} from 'node:http2';
import { connect } from 'node:net';
import { expect } from 'chai';
import { systemClock } from '../../base/index.js';
import { type ApiObject, kindOf } from '../../object/index.js';
import type { JsonObject } from '../../rpc/index.js';
import { MemoryEngine, type ObjectStore, openStore } from '../../store/index.js';
import { eventually } from '../../testing/index.js';
import { accessControl, Authenticator, bootstrap, tokens } from '../auth/index.js';
import { ApiServer, describeKinds, mount } from '../index.js';

const orders = kindOf<ApiObject & { readonly note: string }>()({
  kind: 'Order',
  plural: 'orders',
  scope: 'Cluster',
  statusFields: [],
});
const api = describeKinds('shop.v1', [mount(orders, { note: 'string' })]);
const inputs = new Map(
  api.schemas.services('shop.v1').flatMap(({ methods }) => methods.map((m) => [m.name, m.input])),
);
const local = { host: '127.0.0.1', port: 0 };

describe('a request that arrives after its headers', () => {
  let store: ObjectStore;
  let server: ApiServer;
  let ports: { readonly grpc: number; readonly rest: number };
  let token: string;
  let proofs: number;
  let session: ClientHttp2Session;

  beforeEach(async () => {
    store = await openStore({ engine: new MemoryEngine() });
    token = await bootstrap(store);
    proofs = 0;
    const builtIn = new Authenticator({ store, clock: systemClock });
    const authenticator = {
      authenticate: async (header: string | undefined) => {
        try {
          return await builtIn.authenticate(header);
        } finally {
          proofs += 1;
        }
      },
    };
    const authorizer = accessControl(() => true);
    server = new ApiServer({ store, ...api, authenticator, authorizer });
    ports = await server.listen({ grpc: local, rest: local });
    session = connectHttp2(`http://127.0.0.1:${ports.grpc}`);
  });
  afterEach(async () => {
    session.destroy();
    await server.close(0);
    await store.close();
  });

  const revoke = async (): Promise<void> => {
    const [found] = (await store.list(tokens, {})).items;
    await store.deleteByName(tokens, { name: found?.name ?? '' });
  };
  const proven = (): Promise<boolean> =>
    eventually('the caller is authenticated', () => proofs === 1);

  function open(method: string): ClientHttp2Stream {
    return session.request({
      ':method': 'POST',
      ':path': `/shop.v1.OrderService/${method}`,
      'content-type': 'application/grpc',
      authorization: `Bearer ${token}`,
    });
  }
  /** Sends a request and returns the status of its answer. */
  async function finish(stream: ClientHttp2Stream, method: string, request: JsonObject) {
    const input = inputs.get(method);
    if (!input) throw new Error(`no method ${method}`);
    const message = Buffer.from(api.schemas.encode(input, request));
    const head = Buffer.alloc(5);
    head.writeUInt32BE(message.length, 1);
    const found: unknown[] = [];
    for (const event of ['response', 'trailers'])
      stream.on(event, (headers: Record<string, unknown>) => found.push(headers['grpc-status']));
    stream.resume();
    const closed = once(stream, 'close');
    stream.end(Buffer.concat([head, message]));
    await closed;
    return found.find((status) => status !== undefined);
  }

  for (const revoked of [false, true])
    it(`${revoked ? 'is refused if its token was revoked meanwhile' : 'is accepted'}, over gRPC`, async () => {
      const create = open('Create');
      await proven();
      if (revoked) await revoke();
      const order = { order: { name: 'late', note: '' } };
      const status = await finish(create, 'Create', order);
      expect(status).to.equal(revoked ? '16' : '0');
      expect((await store.get(orders, { name: 'late' })) === undefined).to.equal(revoked);
    });

  it('is refused if its token was revoked meanwhile, before a stream begins', async () => {
    const watch = open('Watch');
    await proven();
    await revoke();
    expect(await finish(watch, 'Watch', {})).to.equal('16');
  });

  async function post(between: () => Promise<void>, headers: readonly string[]): Promise<string> {
    const body = JSON.stringify({ name: 'late', note: '' });
    const socket = connect(ports.rest, '127.0.0.1');
    let answer = '';
    socket.setEncoding('utf8').on('data', (text: string) => (answer += text));
    socket.write(
      [
        'POST /v1/orders HTTP/1.1',
        'host: localhost',
        ...headers,
        'content-type: application/json',
        `content-length: ${body.length}`,
        'connection: close',
        '\r\n',
      ].join('\r\n') + body.slice(0, 5),
    );
    await between();
    socket.end(body.slice(5));
    await once(socket, 'close');
    return answer;
  }

  for (const revoked of [false, true])
    it(`${revoked ? 'is refused if its token was revoked meanwhile' : 'is accepted'}, over REST`, async () => {
      const between = async (): Promise<void> => {
        await proven();
        if (revoked) await revoke();
      };
      const answer = await post(between, [`authorization: Bearer ${token}`]);
      expect(answer).to.match(revoked ? /^HTTP\/1.1 401 / : /^HTTP\/1.1 200 /);
      expect((await store.get(orders, { name: 'late' })) === undefined).to.equal(revoked);
    });

  it('is refused with several authorization headers, also if one is valid', async () => {
    const [good, bad] = [`authorization: Bearer ${token}`, 'authorization: Bearer x'];
    for (const headers of [
      [good, bad],
      [bad, good],
      [good, good],
    ])
      expect(await post(() => Promise.resolve(), headers)).to.match(/^HTTP\/1.1 401 /);
  });
});
