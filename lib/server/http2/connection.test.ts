import { type ClientHttp2Session, connect, type IncomingHttpHeaders } from 'node:http2';
import { expect } from 'chai';
import { eventually } from '../../testing/index.js';
import { errorCodes, frame, frameTypes as types, numbersFrame, settingsFrame } from './frames.js';
import { echo, RawClient, RawServer } from './raw-client.test.js';
import type { Http2Stream } from './stream.js';

const id = 1;
const ok = { 'grpc-status': '0' };

describe('a connection of HTTP/2', () => {
  let server: RawServer;
  let port: number;
  let client: RawClient;
  const listening = async (
    accept: (stream: Http2Stream) => void = echo,
    options: ConstructorParameters<typeof RawServer>[1] = {},
  ): Promise<void> => {
    server = new RawServer(accept, options);
    port = await server.listen();
    client = new RawClient(port);
  };
  afterEach(async () => {
    client[Symbol.dispose]();
    expect(server.broken).to.deep.equal([]);
    await server[Symbol.asyncDispose]();
  });

  it('answers calls, also several that arrive in one read', async () => {
    await listening();
    client.send(
      client.call(1, false),
      client.call(3, true),
      client.data(1, Buffer.from('a'), true),
    );
    expect(await client.answered(1)).to.include(ok);
    expect(await client.answered(3)).to.include(ok);
    expect(client.body(1).toString()).to.equal('a');
    expect(client.body(3).length).to.equal(0);
  });

  it('reads frames that arrive a byte at a time, with headers in several frames and padding', async () => {
    await listening();
    const whole = client.call(id, false);
    const block = whole.subarray(9);
    const padded = Buffer.concat([Buffer.from([3]), Buffer.from('text'), Buffer.alloc(3)]);
    const prioritized = Buffer.concat([Buffer.alloc(5), block.subarray(0, 4)]);
    const bytes = Buffer.concat([
      frame(types.headers, 0x20, id, prioritized),
      frame(types.continuation, 0, id, block.subarray(4, 5)),
      frame(types.continuation, 0x4, id, block.subarray(5)),
      frame(types.data, 0x8 | 0x1, id, padded),
    ]);
    client.socket.setNoDelay(true);
    for (const byte of bytes) {
      client.send(Buffer.from([byte]));
      await new Promise(setImmediate);
    }
    expect(await client.answered(id)).to.include(ok);
    expect(client.body(id).toString()).to.equal('text');
  });

  it('sends data within the windows of the client, and the rest when they are enlarged', async () => {
    await listening((stream) => {
      echo(stream);
      stream.respond({ recurring: [[':status', '200']] });
      stream.write(Buffer.alloc(100_000, 1));
      stream.end({ recurring: [['grpc-status', '0']] });
    });
    client.send(settingsFrame([[4, 10]]), client.call(1, true));
    await eventually('ten bytes', () => client.body(1).length === 10);
    client.send(numbersFrame(types.windowUpdate, 1, 100));
    await eventually('100 more', () => client.body(1).length === 110);
    // The window of the connection is the next limit.
    client.send(settingsFrame([[4, 1_000_000]]));
    await eventually('all that the connection allows', () => client.body(1).length === 65_535);
    client.send(client.call(3, true));
    await client.next('headers', 3);
    client.send(numbersFrame(types.windowUpdate, 0, 1_000_000));
    expect(await client.answered(1)).to.include(ok);
    expect(await client.answered(3)).to.include(ok);
    expect([client.body(1).length, client.body(3).length]).to.deep.equal([100_000, 100_000]);
    const lengths = client.of('data').map(({ payload }) => payload.length);
    expect(Math.max(...lengths)).to.be.at.most(16_384);
  });

  it('lets a client enlarge both windows for every 4 KiB, and measure the connection with pings', async () => {
    const length = 8_000_000;
    await listening((stream) => {
      echo(stream);
      stream.respond({ recurring: [[':status', '200']] });
      stream.write(Buffer.alloc(length));
      stream.end({ recurring: [['grpc-status', '0']] });
    });
    client.send(client.call(1, true));
    let taken = 0;
    let pings = 0;
    client.socket.on('data', () => {
      const frames: Buffer[] = [];
      const data = client.of('data');
      for (; pings < data.length; pings += 1) frames.push(frame(types.ping, 0, 0, Buffer.alloc(8)));
      const received = data.reduce((sum, { payload }) => sum + payload.length, 0);
      for (; taken + 4_096 <= received; taken += 4_096)
        for (const stream of [0, 1]) frames.push(numbersFrame(types.windowUpdate, stream, 4_096));
      if (frames.length > 0) client.send(...frames);
    });
    expect(await client.answered(1)).to.include(ok);
    expect(client.body(1).length).to.equal(length);
    expect(taken / 2_048).to.be.above(3_000);
  });

  it('does not let a stream with much to send delay another one', async () => {
    let calls = 0;
    await listening((stream) => {
      echo(stream);
      calls += 1;
      stream.respond({ recurring: [[':status', '200']] });
      stream.write(Buffer.alloc(calls === 1 ? 4_000_000 : 1_000));
      stream.end({ recurring: [['grpc-status', '0']] });
    });
    client.send(
      settingsFrame([[4, 2 ** 31 - 1]]),
      numbersFrame(types.windowUpdate, 0, 2 ** 30),
      client.call(1, true),
      client.call(3, true),
    );
    await client.answered(3);
    await client.answered(1);
    const end = client.frames.indexOf(client.of('headers', 3).at(-1)!);
    const before = client.frames.slice(0, end).filter(({ stream }) => stream === 1);
    expect(before.length).to.be.below(5);
  });

  it('calls back when data was handed to the socket, and not before', async () => {
    let written = 0;
    await listening((stream) => {
      echo(stream);
      stream.respond({ recurring: [[':status', '200']] });
      stream.write(Buffer.alloc(10), () => (written += 1));
      stream.write(Buffer.alloc(10), () => (written += 1));
    });
    client.send(settingsFrame([[4, 15]]), client.call(1, true));
    await eventually('the first', () => written === 1);
    expect(client.body(1).length).to.be.at.most(15);
    client.send(numbersFrame(types.windowUpdate, 1, 5));
    await eventually('the second', () => written === 2);
  });

  it('accepts no more data than was credited, and more once a caller is known', async () => {
    const streams: Http2Stream[] = [];
    await listening((stream) => {
      streams.push(stream);
      stream.events = { onData: () => undefined, onEnd: () => undefined, onClose: () => undefined };
    });
    const part = Buffer.alloc(16_000);
    client.send(client.call(1, false), ...Array.from({ length: 4 }, () => client.data(1, part)));
    await eventually('the data', () => streams[0]?.held === 64_000);
    expect(client.of('windowUpdate')).to.have.length(0);
    streams[0]!.creditConnection(64_000);
    streams[0]!.creditStream(64_000);
    const credit = await client.next('windowUpdate', 1);
    expect(credit.payload.readUInt32BE(0)).to.equal(64_000);
    streams[0]!.trust();
    await eventually('the larger window', () => client.of('windowUpdate', 0).length === 2);
    expect(client.of('windowUpdate', 0).at(-1)?.payload.readUInt32BE(0)).to.equal(
      1_048_576 - 65_535,
    );
    // Beyond the window of the stream.
    client.send(...Array.from({ length: 5 }, () => client.data(1, part)));
    expect((await client.next('reset', 1)).payload.readUInt32BE(0)).to.equal(
      errorCodes.flowControl,
    );
    expect(client.of('goAway')).to.have.length(0);
  });

  it('gives credit back for data that was held for a call that the client resets', async () => {
    const closed: number[] = [];
    await listening((stream) => {
      const onClose = (): void => void closed.push(stream.id);
      stream.events = { onData: () => undefined, onEnd: () => undefined, onClose };
    });
    const part = Buffer.alloc(15_000);
    const held = [1, 3].map((one) => {
      const parts = Array.from({ length: 4 }, () => client.data(one, part));
      return [client.call(one, false), ...parts, numbersFrame(types.reset, one, errorCodes.cancel)];
    });
    client.send(...held[0]!);
    const credit = await client.next('windowUpdate', 0);
    expect(credit.payload.readUInt32BE(0)).to.equal(60_000);
    client.send(...held[1]!);
    await eventually('the end of both', () => closed.length === 2);
    expect(client.of('goAway')).to.have.length(0);
  });

  it('ends if a client exceeds the window of the connection', async () => {
    await listening((stream) => {
      stream.events = { onData: () => undefined, onEnd: () => undefined, onClose: () => undefined };
    });
    const part = Buffer.alloc(16_000);
    client.send(client.call(1, false), client.call(3, false));
    for (let n = 0; n < 5; n += 1) client.send(client.data(n % 2 === 0 ? 1 : 3, part));
    expect(await client.ended()).to.equal(errorCodes.flowControl);
  });

  it('refuses data after the end of a call', async () => {
    await listening((stream) => {
      stream.events = { onData: () => undefined, onEnd: () => undefined, onClose: () => undefined };
    });
    client.send(client.call(1, true), client.data(1, Buffer.alloc(1)));
    const reset = await client.next('reset', 1);
    expect(reset.payload.readUInt32BE(0)).to.equal(errorCodes.streamClosed);
  });

  it('asks a client to stop sending once the answer is complete', async () => {
    await listening((stream) => {
      echo(stream);
      stream.respond({ recurring: [[':status', '200']] }, true);
    });
    client.send(client.call(1, false));
    expect((await client.next('reset', 1)).payload.readUInt32BE(0)).to.equal(errorCodes.none);
    client.send(client.data(1, Buffer.alloc(10)), client.call(3, false));
    await client.next('reset', 3);
    expect(client.of('goAway')).to.have.length(0);
  });

  it('reads no more from a client that does not read its answers', async () => {
    let begun = 0;
    await listening((stream) => {
      begun += 1;
      stream.respond({ recurring: [], others: [['x', 'y'.repeat(1_000)]] }, true);
    });
    await client.next('settings');
    client.socket.pause();
    let calls = 0;
    const call = (count: number): void => {
      for (let left = count; left > 0; left -= 1) {
        client.send(client.call(2 * calls + 1, true));
        calls += 1;
      }
    };
    const socket = server.sockets[0]!;
    while (!socket.isPaused() && calls < 500_000) {
      call(100);
      await new Promise(setImmediate);
    }
    expect(socket.isPaused()).to.equal(true);
    call(100);
    client.send(frame(types.ping, 0, 0, Buffer.alloc(8)));
    await new Promise(setImmediate);
    expect(begun).to.be.at.most(calls - 100);
    client.socket.resume();
    await client.answered(2 * calls - 1);
    expect(begun).to.equal(calls);
  });

  for (const window of [511, 32])
    it(`sends a long answer to a client whose windows have ${window} bytes`, async () => {
      await listening();
      const sent = Buffer.alloc(1_500 * window, 'answer');
      client.send(settingsFrame([[4, window]]), client.call(id, false));
      for (let at = 0; at < sent.length; at += 15_000)
        client.send(client.data(id, sent.subarray(at, at + 15_000), at + 15_000 >= sent.length));
      let read = 0;
      const isEnded = (): boolean => client.of('goAway').length > 0;
      const takeNew = (): void => {
        for (const { type, payload } of client.frames.slice(read))
          if (type === types.data)
            client.send(
              numbersFrame(types.windowUpdate, id, payload.length),
              numbersFrame(types.windowUpdate, 0, payload.length),
            );
        read = client.frames.length;
      };
      client.socket.on('data', takeNew);
      const hasAll = (): boolean => client.of('headers', id).length === 2;
      await eventually('the answer', () => hasAll() || isEnded());
      expect(isEnded()).to.equal(false);
      expect(client.body(id).equals(sent)).to.equal(true);
    });

  it('works with the client of Node.js, for many calls of any size', async () => {
    await listening();
    const session: ClientHttp2Session = connect(`http://127.0.0.1:${port}`);
    const call = (length: number): Promise<number> =>
      new Promise((resolve, reject) => {
        const stream = session.request({ ':method': 'POST', ':path': '/x', 'x-size': `${length}` });
        let received = 0;
        let status: unknown;
        stream.on('error', reject);
        stream.on('data', (bytes: Buffer) => (received += bytes.length));
        stream.on(
          'trailers',
          (trailers: IncomingHttpHeaders) => (status = trailers['grpc-status']),
        );
        stream.on('response', (headers) => (status ??= headers['grpc-status']));
        stream.on('close', () =>
          status === '0' ? resolve(received) : reject(new Error('status')),
        );
        stream.end(Buffer.alloc(length, 7));
      });
    const lengths = Array.from({ length: 60 }, (_, n) => (n * 7_919) % 150_000);
    try {
      expect(await Promise.all(lengths.map(call))).to.deep.equal(lengths);
      await new Promise<void>((resolve, reject) =>
        session.ping((error) => (error ? reject(error) : resolve())),
      );
    } finally {
      session.destroy();
    }
  });
});
