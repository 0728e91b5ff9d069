import { gzipSync } from 'node:zlib';
import { expect } from 'chai';
import { systemClock } from '../../base/index.js';
import { eventually } from '../../testing/index.js';
import {
  errorCodes,
  frameBytesMax,
  frameTypes,
  numbersFrame,
  settingsFrame,
} from '../http2/frames.js';
import { RawClient, RawServer } from '../http2/raw-client.test.js';
import { GrpcCall } from './call.js';

function framed(message: Buffer, compressed = 0): Buffer {
  const head = Buffer.alloc(5);
  head[0] = compressed;
  head.writeUInt32BE(message.length, 1);
  return Buffer.concat([head, message]);
}

const tooLong = Buffer.concat([Buffer.from([0, 0x7f, 0xff, 0xff, 0xff]), Buffer.alloc(10_000)]);
const gzip = [['grpc-encoding', 'gzip']] as const;

describe('a hostile client of gRPC', () => {
  let server: RawServer;
  let client: RawClient;
  let events: string[];
  let calls: GrpcCall[];
  let onMessage: (call: GrpcCall) => void;
  beforeEach(async () => {
    events = [];
    calls = [];
    onMessage = () => undefined;
    server = new RawServer((stream, request) => {
      const call = new GrpcCall(stream, request);
      if (!call.begin(systemClock)) return;
      calls.push(call);
      call.open({
        message: ({ length }) => {
          events.push(`${stream.id}: ${length}`);
          onMessage(call);
        },
        end: () => events.push(`${stream.id}: end`),
      });
    });
    client = new RawClient(await server.listen());
  });
  afterEach(async () => {
    client[Symbol.dispose]();
    await server[Symbol.asyncDispose]();
    expect(server.broken).to.deep.equal([]);
  });
  const credited = (stream: number): number =>
    client
      .of('windowUpdate', stream)
      .reduce((sum, { payload }) => sum + payload.readUInt32BE(0), 0);

  it('gets its credit back after messages that are refused, and no more than it has used', async () => {
    let sent = 0;
    for (let id = 1; id < 100; id += 2) {
      client.send(client.call(id, false), client.data(id, tooLong));
      sent += tooLong.length;
      await client.answered(id);
    }
    expect(credited(0)).to.be.within(sent - 65_535, sent);
  });

  it('can send over its connection while it does not read an answer', async () => {
    client.send(settingsFrame([[4, 0]]), client.call(1, false));
    await eventually('the call', () => calls.length === 1);
    calls[0]?.write(Buffer.alloc(10));
    calls[0]?.end();
    for (let n = 0; n < 4; n += 1) client.send(client.data(1, Buffer.alloc(16_000)));
    await client.next('windowUpdate', 0);
    expect(client.of('data')).to.have.length(0);
  });

  it('has no message delivered that is decompressed after it cancelled the call', async () => {
    const message = framed(gzipSync(Buffer.alloc(100_000)), 1);
    client.send(
      client.call(1, false, gzip),
      client.data(1, message, true),
      numbersFrame(frameTypes.reset, 1, errorCodes.cancel),
    );
    for (const id of [3, 5]) {
      client.send(client.call(id, false, gzip), client.data(id, message, true));
      await eventually('a later call', () => events.includes(`${id}: end`));
    }
    expect(events.filter((event) => event.startsWith('1:'))).to.deep.equal([]);
  });

  it('has no further message delivered after the answer of the call', async () => {
    const message = framed(gzipSync(Buffer.alloc(100)), 1);
    onMessage = (call) => call.finish({ code: 12, message: 'enough' });
    client.send(
      client.call(1, false, gzip),
      client.data(1, Buffer.concat([message, message, message]), true),
    );
    expect(await client.answered(1)).to.include({ 'grpc-status': '12' });
    client.send(client.call(3, false, gzip), client.data(3, message));
    await client.answered(3);
    expect(events).to.deep.equal(['1: 100', '3: 100']);
  });

  it('has one message decompressed while earlier ones wait for their handler', async () => {
    const message = framed(gzipSync(Buffer.alloc(4_000_000)), 1);
    onMessage = (call) => (call.flowing = false);
    client.send(client.call(1, false, gzip));
    for (let n = 0; n < 15; n += 1) client.send(client.data(1, message));
    for (let n = 0; n < 3; n += 1) {
      const id = 2 * n + 3;
      client.send(client.call(id, false, gzip), client.data(id, message));
      await eventually('another call', () => events.includes(`${id}: 4000000`));
      const taken = (): number => events.filter((event) => event.startsWith('1:')).length;
      await eventually('the next message', () => taken() > n);
      expect(taken()).to.equal(n + 1);
      if (calls[0]) calls[0].flowing = true;
    }
  });

  for (const name of ['grpc-timeout', 'grpc-encoding'])
    it(`gets an answer within one frame for a long ${name}`, async () => {
      const message = framed(Buffer.from('x'), 1);
      client.send(
        client.call(1, false, [[name, '\u00e9'.repeat(12_000)]]),
        client.data(1, message),
      );
      const { payload } = await client.next('headers', 1);
      expect(payload.length).to.be.below(frameBytesMax / 8);
    });
});
