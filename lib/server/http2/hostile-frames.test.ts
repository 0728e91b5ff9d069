import { connect } from 'node:net';
import { expect } from 'chai';
import { seededRandom } from '../../base/index.js';
import { eventually } from '../../testing/index.js';
import {
  errorCodes as codes,
  frame,
  frameTypes as types,
  numbersFrame,
  preface,
  settingsFrame,
} from './frames.js';
import { echo, RawClient, RawServer } from './raw-client.test.js';

const none = Buffer.alloc(0);
const zeros = (length: number): Buffer => Buffer.alloc(length);
const times = (count: number, bytes: (n: number) => Buffer): Buffer =>
  Buffer.concat(Array.from({ length: count }, (_, n) => bytes(n)));
/** A block with the name of a header in upper case. */
const malformed = Buffer.from([0x83, 0x86, 0x84, 0, 1, 0x58, 1, 0x58]);

describe('a hostile client of HTTP/2', () => {
  let server: RawServer;
  let port: number;
  let client: RawClient;
  before(async () => {
    server = new RawServer(echo, { streamsMax: 10 });
    port = await server.listen();
  });
  after(() => server[Symbol.asyncDispose]());
  beforeEach(() => {
    client = new RawClient(port);
  });
  afterEach(() => {
    client[Symbol.dispose]();
    expect(server.broken).to.deep.equal([]);
  });

  type Bytes = (client: RawClient) => Buffer;
  const protocol = codes.protocol;
  const fatal: Readonly<Record<string, readonly [code: number, bytes: Bytes]>> = {
    'a frame beyond 16 KiB': [codes.frameSize, () => frame(types.data, 0, 1, zeros(16_385))],
    'data of the connection': [protocol, () => frame(types.data, 0, 0, none)],
    'data of a stream that was not begun': [protocol, () => frame(types.data, 0, 1, zeros(1))],
    'a reset of a stream that was not begun': [protocol, () => numbersFrame(types.reset, 5, 8)],
    'a reset of another length': [
      codes.frameSize,
      (c) => Buffer.concat([c.call(1, false), frame(types.reset, 0, 1, zeros(3))]),
    ],
    'a stream with an even number': [protocol, (c) => c.call(2, true)],
    'settings of a stream': [protocol, () => frame(types.settings, 0, 1, none)],
    'settings that are cut': [codes.frameSize, () => frame(types.settings, 0, 0, zeros(5))],
    'an acknowledgement with settings': [
      codes.frameSize,
      () => frame(types.settings, 1, 0, zeros(6)),
    ],
    'an initial window beyond 2^31': [codes.flowControl, () => settingsFrame([[4, 2 ** 31]])],
    'an invalid push setting': [protocol, () => settingsFrame([[2, 2]])],
    'an invalid frame size': [protocol, () => settingsFrame([[5, 100]])],
    'too many settings': [
      codes.enhanceYourCalm,
      () => settingsFrame(Array.from({ length: 33 }, () => [9, 0])),
    ],
    'a window that becomes too large by settings': [
      codes.flowControl,
      (c) =>
        Buffer.concat([
          c.call(1, false),
          numbersFrame(types.windowUpdate, 1, 2 ** 31 - 1 - 65_535),
          settingsFrame([[4, 65_536]]),
        ]),
    ],
    'a ping of another length': [codes.frameSize, () => frame(types.ping, 0, 0, zeros(7))],
    'a push': [protocol, () => frame(types.pushPromise, 4, 1, zeros(4))],
    'a priority of another length': [codes.frameSize, () => frame(types.priority, 0, 1, zeros(4))],
    'a window update of zero': [protocol, () => numbersFrame(types.windowUpdate, 0, 0)],
    'a window beyond 2^31': [
      codes.flowControl,
      () => numbersFrame(types.windowUpdate, 0, 2 ** 31 - 1),
    ],
    'a window update of a stream that was not begun': [
      protocol,
      () => numbersFrame(types.windowUpdate, 1, 1),
    ],
    'padding beyond the frame': [
      protocol,
      (c) => Buffer.concat([c.call(1, false), frame(types.data, 8, 1, Buffer.from([2, 0]))]),
    ],
    'a priority that is cut': [codes.frameSize, () => frame(types.headers, 0x24, 1, zeros(4))],
    'corrupt headers': [codes.compression, () => frame(types.headers, 4, 1, Buffer.from([0xff]))],
    'a continuation without headers': [protocol, () => frame(types.continuation, 4, 1, none)],
    'headers that a ping interrupts': [
      protocol,
      () => Buffer.concat([frame(types.headers, 0, 1, none), frame(types.ping, 0, 0, zeros(8))]),
    ],
    'headers that another stream continues': [
      protocol,
      () =>
        Buffer.concat([frame(types.headers, 0, 1, none), frame(types.continuation, 4, 3, none)]),
    ],
    'headers without an end': [
      codes.enhanceYourCalm,
      () =>
        Buffer.concat([
          frame(types.headers, 0, 1, none),
          times(20, () => frame(types.continuation, 0, 1, none)),
        ]),
    ],
    'headers beyond 64 KiB': [
      codes.enhanceYourCalm,
      () =>
        Buffer.concat([
          frame(types.headers, 0, 1, zeros(16_000)),
          times(4, () => frame(types.continuation, 0, 1, zeros(16_000))),
        ]),
    ],
    'a flood of pings': [
      codes.enhanceYourCalm,
      () => times(3_000, () => frame(types.ping, 0, 0, zeros(8))),
    ],
    'a flood of answers to pings': [
      codes.enhanceYourCalm,
      () => times(2_000, () => frame(types.ping, 1, 0, zeros(8))),
    ],
    'a flood of window updates': [
      codes.enhanceYourCalm,
      () => times(2_000, () => numbersFrame(types.windowUpdate, 0, 1)),
    ],
    'a flood of window updates of a call': [
      codes.enhanceYourCalm,
      (c) =>
        Buffer.concat([
          c.call(1, false),
          times(2_000, () => numbersFrame(types.windowUpdate, 1, 1)),
        ]),
    ],
    'a flood of settings': [codes.enhanceYourCalm, () => times(3_000, () => settingsFrame([]))],
    'a flood of answers to settings': [
      codes.enhanceYourCalm,
      () => times(2_000, () => frame(types.settings, 1, 0, none)),
    ],
    'a flood of GOAWAY frames': [
      codes.enhanceYourCalm,
      () => times(2_000, () => frame(types.goAway, 0, 0, zeros(8))),
    ],
    'a flood of empty data': [
      codes.enhanceYourCalm,
      (c) => Buffer.concat([c.call(1, false), times(2_000, () => frame(types.data, 0, 1, none))]),
    ],
    'a flood of padding': [
      codes.enhanceYourCalm,
      (c) =>
        Buffer.concat([c.call(1, false), times(2_000, () => frame(types.data, 8, 1, zeros(1)))]),
    ],
    'a flood of priorities': [
      codes.enhanceYourCalm,
      () => times(2_000, () => frame(types.priority, 0, 1, zeros(5))),
    ],
    'a flood of unknown frames': [
      codes.enhanceYourCalm,
      () => times(2_000, () => frame(77, 0, 1, zeros(5))),
    ],
    'a flood of resets': [
      codes.enhanceYourCalm,
      (c) =>
        times(2_000, (n) =>
          Buffer.concat([c.call(2 * n + 1, false), numbersFrame(types.reset, 2 * n + 1, 8)]),
        ),
    ],
    'a flood of streams that the server resets': [
      codes.enhanceYourCalm,
      (c) =>
        times(2_000, (n) =>
          Buffer.concat([c.call(2 * n + 1, false), numbersFrame(types.windowUpdate, 2 * n + 1, 0)]),
        ),
    ],
    'a flood of streams beyond the limit': [
      codes.enhanceYourCalm,
      (c) => times(2_000, (n) => c.call(2 * n + 1, false)),
    ],
    'a flood of malformed headers': [
      codes.enhanceYourCalm,
      () => times(2_000, (n) => frame(types.headers, 5, 2 * n + 1, malformed)),
    ],
  };
  for (const [what, [code, bytes]] of Object.entries(fatal))
    it(`is disconnected for ${what}`, async () => {
      client.send(bytes(client));
      expect(await client.ended()).to.equal(code);
      await eventually('the end of the connection', () => client.closed);
    });

  it('is disconnected for a flood of settings, also if it reads the answers', async () => {
    for (let sent = 1; sent <= 2; sent += 1) {
      client.send(times(450, () => settingsFrame([])));
      await eventually('the answers', () => client.of('settings').length > 450 * sent);
    }
    client.send(times(450, () => settingsFrame([])));
    expect(await client.ended()).to.equal(codes.enhanceYourCalm);
  });

  it('is disconnected if it takes its answers byte by byte', async () => {
    client.send(settingsFrame([[4, 0]]), client.call(1, false));
    client.send(client.data(1, zeros(10_000)), client.data(1, zeros(10_000), true));
    await client.next('headers', 1);
    for (let sent = 0; sent < 3_000 && client.of('goAway').length === 0; sent += 100) {
      const before = client.body(1).length;
      client.send(times(100, () => numbersFrame(types.windowUpdate, 1, 1)));
      const isTaken = (): boolean =>
        client.body(1).length >= before + 100 || client.of('goAway').length > 0;
      await eventually('the bytes', isTaken);
    }
    expect(await client.ended()).to.equal(codes.enhanceYourCalm);
  });

  const refused: Readonly<Record<string, readonly [code: number, bytes: Bytes]>> = {
    'a window update of zero for a call': [
      protocol,
      (c) => Buffer.concat([c.call(1, false), frame(types.windowUpdate, 0, 1, zeros(4))]),
    ],
    'malformed headers': [protocol, () => frame(types.headers, 5, 1, malformed)],
    'headers without a path': [
      protocol,
      () => frame(types.headers, 5, 1, Buffer.from([0x83, 0x86])),
    ],
    'a pseudo-header after other headers': [
      protocol,
      () => frame(types.headers, 5, 1, Buffer.from([0x83, 0x86, 0x84, 0x90, 0x83])),
    ],
    'two methods': [
      protocol,
      () => frame(types.headers, 5, 1, Buffer.from([0x83, 0x83, 0x86, 0x84])),
    ],
    'the status of an answer': [
      protocol,
      () => frame(types.headers, 5, 1, Buffer.from([0x83, 0x86, 0x84, 0x88])),
    ],
    'too many headers': [
      codes.enhanceYourCalm,
      () =>
        frame(
          types.headers,
          5,
          1,
          Buffer.concat([Buffer.from([0x83, 0x86, 0x84]), Buffer.alloc(200, 0x90)]),
        ),
    ],
    'trailers that do not end': [
      protocol,
      (c) => Buffer.concat([c.call(1, false), frame(types.headers, 4, 1, Buffer.from([0x90]))]),
    ],
    'a window beyond 2^31': [
      codes.flowControl,
      (c) => Buffer.concat([c.call(1, false), numbersFrame(types.windowUpdate, 1, 2 ** 31 - 1)]),
    ],
  };
  for (const [what, [code, bytes]] of Object.entries(refused))
    it(`loses only its call for ${what}`, async () => {
      client.send(bytes(client));
      const reset = await client.next('reset', 1);
      expect(reset.payload.readUInt32BE(0)).to.equal(code);
      client.send(client.call(3, true));
      expect(await client.answered(3)).to.include({ 'grpc-status': '0' });
    });

  it('that sends more calls than allowed gets the answers of those that are allowed', async () => {
    client.send(times(30, (n) => client.call(2 * n + 1, false)));
    await eventually('the refusals', () => client.of('reset').length === 20);
    for (const { payload } of client.of('reset'))
      expect(payload.readUInt32BE(0)).to.equal(codes.refused);
    client.send(times(10, (n) => client.data(2 * n + 1, none, true)));
    for (let n = 0; n < 10; n += 1) await client.answered(2 * n + 1);
  });

  for (const [what, bytes] of Object.entries({
    'HTTP/1.1': Buffer.from('GET / HTTP/1.1\r\nhost: x\r\n\r\n'),
    TLS: Buffer.from([0x16, 3, 1, 2, 0]),
    'a wrong end of the preface': Buffer.concat([preface.subarray(0, 20), Buffer.from('XXXX')]),
    'frames before its settings': Buffer.concat([preface, frame(types.ping, 0, 0, zeros(8))]),
  }))
    it(`is disconnected for ${what}`, async () => {
      using other = new RawClient(port, false);
      other.send(bytes);
      await eventually('the end', () => other.closed);
    });

  it('that sends random frames is answered or disconnected, and does not affect others', async () => {
    const random = seededRandom(1919);
    const byte = (): number => Math.floor(random.next() * 256);
    for (let round = 0; round < 100; round += 1) {
      const socket = connect(port, '127.0.0.1').on('error', () => undefined);
      const frames = Array.from({ length: 20 }, () => {
        const payload = Buffer.from(Array.from({ length: random.next() * 20 }, byte));
        const type = Math.floor(random.next() * 11);
        return frame(type, byte(), Math.floor(random.next() * 4), payload);
      });
      await new Promise<void>((resolve) =>
        socket.write(Buffer.concat([preface, settingsFrame([]), ...frames]), () => resolve()),
      );
      socket.destroy();
    }
    client.send(client.call(1, true));
    expect(await client.answered(1)).to.include({ 'grpc-status': '0' });
  });
});
