import { connect } from 'node:net';
import { expect } from 'chai';
import { type ApiObject, kindOf } from '../../object/index.js';
import { MemoryEngine, type ObjectStore, openStore } from '../../store/index.js';
import { accessControl, ApiServer, describeKinds, mount } from '../index.js';

const orders = kindOf<ApiObject & { readonly note?: string }>()({
  kind: 'Order',
  plural: 'orders',
  scope: 'Namespaced',
  statusFields: [],
});
const api = describeKinds('shop.v1', [mount(orders, { note: 'string' })]);
const local = { host: '127.0.0.1', port: 0 };

describe('malformed requests', () => {
  let store: ObjectStore;
  let server: ApiServer;
  let port: number;
  before(async () => {
    store = await openStore({ engine: new MemoryEngine() });
    server = new ApiServer({ store, ...api, authorizer: accessControl(() => true) });
    ({ rest: port } = await server.listen({ grpc: local, rest: local }));
  });
  after(async () => {
    await server.close(0);
    await store.close();
  });

  /** All bytes that are received until the connection is closed. */
  const answered = (bytes: string): Promise<string> =>
    new Promise((resolve, reject) => {
      let text = '';
      const socket = connect(port, '127.0.0.1', () => socket.write(bytes));
      socket.setEncoding('utf8').on('data', (chunk: string) => (text += chunk));
      socket.on('error', reject).on('close', () => resolve(text));
    });

  for (const [what, bytes, status, reason] of [
    ['no HTTP', 'hello\r\n\r\n', 400, 'MalformedRequest'],
    [
      'headers that are too large',
      `GET / HTTP/1.1\r\nx: ${'y'.repeat(70_000)}`,
      431,
      'HeadersTooLarge',
    ],
  ] as const)
    it(`are answered like every other refusal, and the connection is closed: ${what}`, async () => {
      const [head = '', body = ''] = (await answered(bytes)).split('\r\n\r\n');
      expect(head).to.match(new RegExp(`^HTTP/1.1 ${status} `));
      const error = JSON.parse(body) as Record<string, unknown>;
      expect(error).to.include({ code: 3, status: 'INVALID_ARGUMENT', reason });
      expect(error).to.have.all.keys('code', 'status', 'message', 'reason', 'details', 'requestId');
      expect(head).to.contain(`x-request-id: ${String(error.requestId)}`);
    });
});
