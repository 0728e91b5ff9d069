import {
  type ClientHttp2Session,
  type ClientHttp2Stream,
  connect,
  constants,
  type IncomingHttpHeaders,
} from 'node:http2';
import { expect } from 'chai';
import { StatusError } from '../base/index.js';
import { type ApiObject, kindOf } from '../object/index.js';
import { MemoryEngine, type ObjectStore, openStore } from '../store/index.js';
import { eventually } from '../testing/index.js';
import { anonymous } from './call.js';
import { accessControl, ApiServer, describeKinds, type Identity, mount } from './index.js';

const orders = kindOf<ApiObject & { readonly note?: string }>()({
  kind: 'Order',
  plural: 'orders',
  scope: 'Namespaced',
  statusFields: [],
});
const api = describeKinds('shop.v1', [mount(orders, { note: 'string' })]);
const local = { host: '127.0.0.1', port: 0 };
const existing = '/shop.v1.OrderService/Create';
const unauthenticated = '16';
const resourceExhausted = '8';

/** The beginning of a message of this length. */
function frame(length: number): Buffer {
  const bytes = Buffer.alloc(5);
  bytes.writeUInt32BE(length, 1);
  return bytes;
}

describe('a gRPC message', () => {
  let store: ObjectStore;
  let server: ApiServer;
  let session: ClientHttp2Session;
  beforeEach(async () => {
    store = await openStore({ engine: new MemoryEngine() });
  });
  afterEach(async () => {
    session.destroy();
    await server.close(0);
    await store.close();
  });

  async function listening(authenticate: () => Promise<Identity>): Promise<void> {
    const authorizer = accessControl(() => true);
    server = new ApiServer({ store, ...api, authenticator: { authenticate }, authorizer });
    const { grpc } = await server.listen({ grpc: local, rest: local });
    session = connect(`http://127.0.0.1:${grpc}`);
    session.on('error', () => undefined);
  }
  const refusing = (): Promise<Identity> =>
    Promise.reject(
      new StatusError({ code: 'Unauthenticated', reason: 'InvalidToken', message: 'nobody' }),
    );
  /** A call that sends this and no end, with the status that it gets. */
  function begun(
    path: string,
    bytes: Buffer,
  ): { call: ClientHttp2Stream; status: Promise<string> } {
    const headers = { ':method': 'POST', 'content-type': 'application/grpc', te: 'trailers' };
    const call = session.request({ ...headers, ':path': path });
    call.on('error', () => undefined);
    call.write(bytes);
    const status = new Promise<string>((resolve) => {
      const told = (headers: IncomingHttpHeaders): void => {
        const code = headers['grpc-status'];
        if (code !== undefined) resolve(String(code));
      };
      call.on('response', told);
      call.on('trailers', told);
    });
    call.resume();
    return { call, status };
  }

  it('is not read before it is known who calls', async () => {
    await listening(refusing);
    const whole = 1_000_000;
    const { status } = begun(existing, Buffer.concat([frame(whole), Buffer.alloc(whole / 2)]));
    expect(await status).to.equal(unauthenticated);
  });

  for (const path of [existing, '/shop.v1.OrderService/Steal'])
    it(`that is wrong tells nobody whether there is the method: ${path}`, async () => {
      await listening(refusing);
      const { call, status } = begun(path, Buffer.alloc(0));
      call.end();
      expect(await status, 'none at all').to.equal(unauthenticated);
      expect(await begun(path, frame(2 ** 31 - 1)).status, 'too long').to.equal(unauthenticated);
    });

  it('of nobody known is read while few are, and others when those are gone', async () => {
    await listening(() => Promise.resolve(anonymous));
    const many = Array.from({ length: 40 }, () => begun(existing, frame(100)));
    const refused = new Set<number>();
    many.forEach(({ status }, at) => {
      void status.then((code) => code === resourceExhausted && refused.add(at));
    });
    await eventually('those that are too many', () => refused.size === 8);
    for (const { call } of many) call.close(constants.NGHTTP2_CANCEL);
    await eventually('a place', async () => {
      const { call, status } = begun(existing, frame(0));
      call.end();
      return (await status) !== resourceExhausted;
    });
  });
});
