import { gzipSync } from 'node:zlib';
import { expect } from 'chai';
import { statusCodes } from '../../base/index.js';
import { eventually, FakeClock } from '../../testing/index.js';
import { errorCodes, frameTypes, numbersFrame, settingsFrame } from '../http2/frames.js';
import { RawClient, RawServer } from '../http2/raw-client.test.js';
import { GrpcCall } from './call.js';
import { timeoutMs } from './headers.js';

function framed(message: Buffer, compressed = 0): Buffer {
  const head = Buffer.alloc(5);
  head[0] = compressed;
  head.writeUInt32BE(message.length, 1);
  return Buffer.concat([head, message]);
}

describe('a call of gRPC', () => {
  const clock = new FakeClock();
  let server: RawServer;
  let client: RawClient;
  let calls: GrpcCall[];
  let over: number;
  beforeEach(async () => {
    calls = [];
    over = 0;
    server = new RawServer((stream, request) => {
      const call = new GrpcCall(stream, request);
      call.whenOver(() => (over += 1));
      if (call.begin(clock)) calls.push(call);
    });
    client = new RawClient(await server.listen());
  });
  afterEach(async () => {
    client[Symbol.dispose]();
    await server[Symbol.asyncDispose]();
  });
  const next = async (): Promise<GrpcCall> => {
    await eventually('a call', () => calls.length > 0);
    return calls.shift()!;
  };

  it('is answered with messages and a status', async () => {
    client.send(client.call(1, false), client.data(1, framed(Buffer.from('question')), true));
    const call = await next();
    const got: string[] = [];
    call.open({
      message: (bytes) => got.push(bytes.toString()),
      end: () => {
        call.write(Buffer.from('short'));
        call.write(Buffer.alloc(10_000, 'l'));
        call.end();
        call.write(Buffer.from('behind'));
        call.finish({ code: 13, message: 'behind' });
      },
    });
    const trailers = await client.answered(1);
    expect(trailers).to.deep.equal({ 'grpc-status': '0' });
    expect(client.of('headers', 1)[0]?.headers).to.deep.equal({
      ':status': '200',
      'content-type': 'application/grpc+proto',
      'grpc-accept-encoding': 'identity,gzip,deflate',
    });
    expect(got).to.deep.equal(['question']);
    const expected = [framed(Buffer.from('short')), framed(Buffer.alloc(10_000, 'l'))];
    expect(client.body(1).equals(Buffer.concat(expected))).to.equal(true);
    expect(over).to.equal(1);
  });

  it('that fails is answered with one frame of headers, with any text', async () => {
    client.send(client.call(1, true));
    const details = Buffer.from([0, 1, 254, 255]);
    (await next()).finish({ code: 5, message: '100% für \u20ac\n"~', details });
    const headers = await client.answered(1);
    expect(client.frames.filter(({ stream }) => stream === 1)).to.have.length(1);
    expect(headers).to.include({ ':status': '200', 'grpc-status': '5' });
    expect(headers['grpc-message']).to.equal('100%25 f%C3%BCr %E2%82%AC%0A"~');
    expect(Buffer.from(headers['grpc-status-details-bin']!, 'base64').equals(details)).to.equal(
      true,
    );
  });

  it('that is not a POST of gRPC is refused by HTTP', async () => {
    const block = Buffer.from([0x82, 0x86, 0x84]);
    const head = Buffer.from([0, 0, block.length, frameTypes.headers, 5, 0, 0, 0, 1]);
    client.send(head, block);
    expect(await client.answered(1)).to.deep.equal({ ':status': '405' });
    const post = Buffer.from([0x83, 0x86, 0x84]);
    client.send(Buffer.from([0, 0, post.length, frameTypes.headers, 5, 0, 0, 0, 3]), post);
    expect(await client.answered(3)).to.deep.equal({ ':status': '415' });
    expect(calls).to.have.length(0);
  });

  it('keeps data that arrives before it is opened, within its window', async () => {
    const message = Buffer.alloc(200_000, 'm');
    const bytes = framed(message);
    client.send(client.call(1, false));
    for (let at = 0; at < 64_000; at += 16_000)
      client.send(client.data(1, bytes.subarray(at, at + 16_000)));
    client.send(numbersFrame(frameTypes.windowUpdate, 0, 1));
    const call = await next();
    await eventually('the data', () => client.of('settings').length === 2);
    expect(client.of('windowUpdate')).to.have.length(0);
    const got: Buffer[] = [];
    let ended = false;
    call.trust();
    call.open({ message: (part) => got.push(part), end: () => (ended = true) });
    for (let at = 64_000; at < bytes.length; at += 16_000) {
      // The client may send as much as was credited.
      await eventually('credit', () => {
        const credits = client.of('windowUpdate', 1).map(({ payload }) => payload.readUInt32BE(0));
        return 65_535 + credits.reduce((sum, more) => sum + more, 0) >= at + 16_000;
      });
      client.send(client.data(1, bytes.subarray(at, at + 16_000)));
    }
    client.send(client.data(1, Buffer.alloc(0), true));
    await eventually('the end', () => ended);
    expect(got.map((part) => part.equals(message))).to.deep.equal([true]);
  });

  it('gives no credit while its messages wait, or one is decompressed', async () => {
    const part = gzipSync(Buffer.alloc(3_000_000));
    client.send(client.call(1, false, [['grpc-encoding', 'gzip']]));
    const call = await next();
    const got: number[] = [];
    call.open({
      message: (bytes) => {
        got.push(bytes.length);
        call.flowing = false;
      },
      end: () => undefined,
    });
    for (let n = 0; n < 15; n += 1) client.send(client.data(1, framed(part, 1)));
    for (let n = 1; n <= 15; n += 1) {
      await eventually('a message', () => got.length === n);
      expect(client.of('windowUpdate', 1)).to.have.length(0);
      call.flowing = true;
    }
    const { payload } = await client.next('windowUpdate', 1);
    expect(payload.readUInt32BE(0)).to.equal(15 * (part.length + 5));
  });

  it('ends with an error for a message beyond the limit', async () => {
    client.send(client.call(1, false));
    const call = await next();
    call.open({ message: () => undefined, end: () => undefined });
    client.send(client.data(1, Buffer.from([0, 0x7f, 0xff, 0xff, 0xff])));
    expect(await client.answered(1)).to.include({
      'grpc-status': String(statusCodes.ResourceExhausted),
    });
    expect((await client.next('reset', 1)).payload.readUInt32BE(0)).to.equal(errorCodes.none);
    expect(over).to.equal(1);
  });

  it('ends with its deadline', async () => {
    client.send(client.call(1, true, [['grpc-timeout', '200m']]));
    const call = await next();
    await clock.advance(199);
    expect(over).to.equal(0);
    await clock.advance(1);
    const code = String(statusCodes.DeadlineExceeded);
    expect(await client.answered(1)).to.include({ 'grpc-status': code });
    expect([over, call.isOver]).to.deep.equal([1, true]);
  });

  it('whose answer is not read ends with its deadline too, or when it is cut', async () => {
    client.send(settingsFrame([[4, 1_000]]));
    for (const [id, timeout] of [
      [1, '1S'],
      [3, '2S'],
    ] as const) {
      client.send(client.call(id, true, [['grpc-timeout', timeout]]));
      const call = await next();
      call.write(Buffer.alloc(100_000));
      if (id === 1) call.end();
      else {
        await eventually('the begin of the answer', () => client.body(3).length === 1_000);
        call.cut({ code: statusCodes.ResourceExhausted, message: 'slow' });
        const code = String(statusCodes.ResourceExhausted);
        expect(await client.answered(3)).to.include({ 'grpc-status': code });
        expect(client.body(3)).to.have.length(1_000);
      }
    }
    await clock.advance(1_000);
    expect((await client.next('reset', 1)).payload.readUInt32BE(0)).to.equal(errorCodes.cancel);
    expect(over).to.equal(2);
  });

  it('has a timeout with a unit, and is refused with a malformed one', async () => {
    expect(['1H', '2M', '3S', '4m', '5u', '6n'].map(timeoutMs)).to.deep.equal([
      3_600_000, 120_000, 3_000, 4, 0.005, 0.000006,
    ]);
    for (const text of ['', '1', '-1S', '123456789S', '1S ', '1x', '0x1S'])
      expect(timeoutMs(text), text).to.equal(undefined);
    client.send(client.call(1, true, [['grpc-timeout', 'soon']]));
    expect(await client.answered(1)).to.include({ 'grpc-status': String(statusCodes.Internal) });
  });
});
