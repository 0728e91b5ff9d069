import {
  type ClientHttp2Session,
  type ClientHttp2Stream,
  connect,
  constants,
  type IncomingHttpHeaders,
} from 'node:http2';
import { expect } from 'chai';
import { type Clock, StatusError } from '../../base/index.js';
import { type ApiObject, kindOf } from '../../object/index.js';
import { MemoryEngine, type ObjectStore, openStore } from '../../store/index.js';
import { eventually, FakeClock } from '../../testing/index.js';
import { anonymous } from '../api/call.js';
import { accessControl, ApiServer, describeKinds, type Identity, mount } from '../index.js';

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
const deadlineExceeded = '4';

/** The start of a message of this length. */
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

  async function listening(authenticate: () => Promise<Identity>, clock?: Clock): Promise<void> {
    const authorizer = accessControl(() => true);
    const authenticator = { authenticate };
    server = new ApiServer({ store, ...api, authenticator, authorizer, ...(clock && { clock }) });
    const { grpc } = await server.listen({ grpc: local, rest: local });
    session = connect(`http://127.0.0.1:${grpc}`);
    session.on('error', () => undefined);
  }
  const refusing = (): Promise<Identity> =>
    Promise.reject(
      new StatusError({ code: 'Unauthenticated', reason: 'InvalidToken', message: 'nobody' }),
    );
  /** A call that sends this content without an end, with the status that it gets. */
  function begun(
    path: string,
    bytes: Buffer,
  ): { call: ClientHttp2Stream; status: Promise<string> } {
    const headers = { ':method': 'POST', 'content-type': 'application/grpc', te: 'trailers' };
    const call = session.request({ ...headers, ':path': path });
    call.on('error', () => undefined);
    call.write(bytes);
    const status = new Promise<string>((resolve) => {
      const onHeaders = (headers: IncomingHttpHeaders): void => {
        const code = headers['grpc-status'];
        if (code !== undefined) resolve(String(code));
      };
      call.on('response', onHeaders);
      call.on('trailers', onHeaders);
    });
    call.resume();
    return { call, status };
  }

  it('is not read before its caller is authenticated', async () => {
    await listening(refusing);
    const whole = 1_000_000;
    const { status } = begun(existing, Buffer.concat([frame(whole), Buffer.alloc(whole / 2)]));
    expect(await status).to.equal(unauthenticated);
  });

  for (const path of [existing, '/shop.v1.OrderService/Steal'])
    it(`that is invalid does not disclose whether the method exists: ${path}`, async () => {
      await listening(refusing);
      const { call, status } = begun(path, Buffer.alloc(0));
      call.end();
      expect(await status, 'none at all').to.equal(unauthenticated);
      expect(await begun(path, frame(2 ** 31 - 1)).status, 'too long').to.equal(unauthenticated);
    });

  it('without a token is read while few such calls are open, and further ones when those ended', async () => {
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

  const account = (subject: string): Identity => ({
    subject,
    kind: 'user',
    policies: [],
    tokenId: subject,
    expiresAt: undefined,
  });

  it('that never arrives completely ends its call after 30 s, and a watch continues', async () => {
    const clock = new FakeClock();
    await listening(() => Promise.resolve(account('slow')), clock);
    const whole = frame(1_000);
    const calls = [Buffer.alloc(0), whole.subarray(0, 3), whole].map((bytes) =>
      begun(existing, bytes),
    );
    const watch = begun('/shop.v1.OrderService/Watch', frame(0));
    let ended = 0;
    let watched = true;
    for (const { status } of calls) void status.then(() => (ended += 1));
    void watch.status.then(() => (watched = false));
    watch.call.end();
    const open = new Promise((resolve) => watch.call.once('data', resolve));
    await open;
    await clock.advance(29_000);
    expect(ended).to.equal(0);
    await clock.advance(2_000);
    expect(await Promise.all(calls.map(({ status }) => status))).to.deep.equal([
      deadlineExceeded,
      deadlineExceeded,
      deadlineExceeded,
    ]);
    await Promise.all(
      calls.map(({ call }) => eventually('the server to close the stream', () => call.closed)),
    );
    expect(watched).to.equal(true);
  });

  it('that arrives slowly is limited to 64 per account, and does not count for other accounts', async () => {
    const clock = new FakeClock();
    const accounts = ['one', 'two'];
    let proven = 0;
    await listening(() => Promise.resolve(account(accounts[(proven += 1) % 2] ?? '')), clock);
    const many = Array.from({ length: 140 }, () => begun(existing, frame(100)));
    const refused: string[] = [];
    for (const { status } of many) void status.then((code) => refused.push(code));
    await eventually('all to be waited for', () => proven === 140);
    await clock.advance(3_000);
    await eventually('those that are too many', () => refused.length === 12);
    expect(new Set(refused)).to.deep.equal(new Set([resourceExhausted]));
    // The remaining ones arrive completely.
    const [first] = many;
    first?.call.end(Buffer.alloc(100));
    expect(await first?.status).not.to.equal(resourceExhausted);
  });

  it('belongs to one of at most 256 open calls of its connection, because a single read may contain all', async () => {
    await listening(refusing);
    const settings = await new Promise<{ readonly maxConcurrentStreams?: number }>((resolve) =>
      session.once('remoteSettings', resolve),
    );
    expect(settings.maxConcurrentStreams).to.equal(256);
  });
});
