import { createConnection } from 'node:net';
import { expect } from 'chai';
import { StatusError } from '../../base/index.js';
import { type ApiObject, kindOf } from '../../object/index.js';
import { MemoryEngine, openStore } from '../../store/index.js';
import { eventually } from '../../testing/index.js';
import { accessControl, ApiServer, describeKinds, mount } from '../index.js';

const orders = kindOf<ApiObject>()({
  kind: 'Order',
  plural: 'orders',
  scope: 'Namespaced',
  statusFields: [],
});
const types = { headers: 1, reset: 3, settings: 4, goAway: 7 } as const;
const endHeaders = 4;
const cancel = Buffer.from([0, 0, 0, 8]);

function frame(type: keyof typeof types, flags: number, stream: number, payload: Buffer): Buffer {
  const head = Buffer.alloc(9);
  head.writeUIntBE(payload.length, 0, 3);
  head.writeUInt8(types[type], 3);
  head.writeUInt8(flags, 4);
  head.writeUInt32BE(stream, 5);
  return Buffer.concat([head, payload]);
}

const text = (value: string): Buffer => Buffer.from(`${String.fromCharCode(value.length)}${value}`);
/** A POST over http to a method, as HPACK literals. */
const callHeaders = Buffer.concat([
  Buffer.from([0x83, 0x86, 0x01]),
  text('localhost'),
  Buffer.from([0x04]),
  text('/shop.v1.OrderService/Get'),
  ...['content-type', 'application/grpc', 'te', 'trailers'].map((word, at) =>
    Buffer.concat([Buffer.from(at % 2 === 0 ? [0] : []), text(word)]),
  ),
]);

/** The bytes of a client that starts calls and resets each at once. */
function resetCalls(count: number): Buffer {
  const calls = Array.from({ length: count }, (_, n) => [
    frame('headers', endHeaders, 2 * n + 1, callHeaders),
    frame('reset', 0, 2 * n + 1, cancel),
  ]);
  const start = Buffer.from('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n');
  return Buffer.concat([start, frame('settings', 0, 0, Buffer.alloc(0)), ...calls.flat()]);
}

describe('a connection that resets each call at once', () => {
  it('gets a GOAWAY, and few of its calls are processed', async () => {
    await using store = await openStore({ engine: new MemoryEngine() });
    let asked = 0;
    const authenticate = (): Promise<never> => {
      asked += 1;
      return Promise.reject(
        new StatusError({ code: 'Unauthenticated', reason: 'InvalidToken', message: 'nobody' }),
      );
    };
    const server = new ApiServer({
      store,
      ...describeKinds('shop.v1', [mount(orders, { note: 'string' })]),
      authenticator: { authenticate },
      authorizer: accessControl(() => true),
    });
    const local = { host: '127.0.0.1', port: 0 };
    const { grpc } = await server.listen({ grpc: local, rest: local });
    const socket = createConnection(grpc, '127.0.0.1');
    socket.on('error', () => undefined);
    let answer = Buffer.alloc(0);
    socket.on('data', (bytes) => (answer = Buffer.concat([answer, bytes])));
    try {
      socket.write(resetCalls(3_000));
      await eventually('the frame that ends the connection', () => framesIn(answer).has('goAway'));
      expect(asked).to.be.within(1, 400);
    } finally {
      socket.destroy();
      await server.close(0);
    }
  });
});

/** The types of the frames. */
function framesIn(bytes: Buffer): ReadonlySet<string> {
  const found = new Set<string>();
  for (let at = 0; at + 9 <= bytes.length; at += 9 + bytes.readUIntBE(at, 3)) {
    const type = Object.entries(types).find(([, number]) => number === bytes[at + 3]);
    if (type) found.add(type[0]);
  }
  return found;
}
