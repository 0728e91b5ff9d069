import { expect } from 'chai';
import { eventually, FakeClock } from '../../testing/index.js';
import { errorCodes, frame, frameFlags, frameTypes, numbersFrame } from './frames.js';
import { echo, RawClient, RawServer } from './raw-client.test.js';
import type { Http2Stream } from './stream.js';

const keepaliveMs = 30_000;
const idleMs = 300_000;

describe('the life of a connection of HTTP/2', () => {
  let clock: FakeClock;
  let server: RawServer;
  let client: RawClient;
  let streams: Http2Stream[];
  beforeEach(async () => {
    clock = new FakeClock();
    streams = [];
    const accept = (stream: Http2Stream): void => {
      streams.push(stream);
      echo(stream);
    };
    server = new RawServer(accept, { clock, keepaliveMs, idleMs });
    client = new RawClient(await server.listen());
    await client.next('settings');
  });
  afterEach(async () => {
    client[Symbol.dispose]();
    await server[Symbol.asyncDispose]();
  });
  const pings = (): number => client.of('ping').length;
  const pong = (): void => client.send(frame(frameTypes.ping, frameFlags.ack, 0, Buffer.alloc(8)));

  it('ends when a client does not answer a ping', async () => {
    client.send(client.call(1, false));
    await eventually('the call', () => streams.length === 1);
    await clock.advance(keepaliveMs);
    await eventually('a ping', () => pings() === 1);
    pong();
    // The answer to a ping of the client shows that the pong before it was read.
    client.send(frame(frameTypes.ping, 0, 0, Buffer.from('received')));
    await eventually('the answer', () => pings() === 2);
    await clock.advance(keepaliveMs);
    await eventually('another ping', () => pings() === 3);
    expect(client.closed).to.equal(false);
    await clock.advance(keepaliveMs);
    await eventually('the end', () => client.closed && streams[0]?.closed === true);
    expect(server.closed).to.be.at.least(1);
  });

  it('does not end while a client sends other frames, although its answer to a ping is late', async () => {
    client.send(client.call(1, false));
    await eventually('the call', () => streams.length === 1);
    for (let n = 1; n <= 3; n += 1) {
      await clock.advance(keepaliveMs);
      await eventually('a ping', () => pings() === n);
      const before = streams[0]?.sendWindow;
      client.send(numbersFrame(frameTypes.windowUpdate, 1, 1));
      await eventually('the frame', () => streams[0]?.sendWindow !== before);
    }
    expect(client.closed).to.equal(false);
    await clock.advance(2 * keepaliveMs);
    await eventually('the end', () => client.closed);
  });

  it('ends after a time without a call, and not during one', async () => {
    const alive = async (ms: number): Promise<void> => {
      for (let left = ms; left > 0; left -= keepaliveMs) {
        const before = pings();
        await clock.advance(Math.min(left, keepaliveMs));
        await eventually('a ping', () => pings() > before);
        pong();
        client.send(frame(frameTypes.ping, 0, 0, Buffer.from('received')));
        await eventually('the answer', () => pings() === before + 2);
      }
    };
    client.send(client.call(1, false));
    await eventually('the call', () => streams.length === 1);
    await alive(2 * idleMs);
    expect(client.of('goAway')).to.have.length(0);
    client.send(client.data(1, Buffer.alloc(0), true));
    await client.answered(1);
    await alive(idleMs - keepaliveMs);
    expect(client.of('goAway')).to.have.length(0);
    await clock.advance(keepaliveMs);
    expect(await client.ended()).to.equal(errorCodes.none);
    await eventually('the end', () => client.closed);
  });

  it('ends answers that are complete and not read, and no others', async () => {
    const answer = { recurring: [[':status', '200']] as const };
    const status = { recurring: [['grpc-status', '0']] as const };
    client.send(numbersFrame(frameTypes.windowUpdate, 0, 1_000_000));
    client.send(...[1, 3, 5].map((id) => client.call(id, false)));
    await eventually('the calls', () => streams.length === 3);
    for (const stream of streams) {
      stream.respond(answer);
      stream.write(Buffer.alloc(100_000));
    }
    // The third one is a stream of events, which may be read later.
    for (const stream of streams.slice(0, 2)) stream.end(status);
    await eventually('what the windows allow', () =>
      [1, 3, 5].every((id) => client.body(id).length === 65_535),
    );
    for (let round = 0; round < 3; round += 1) {
      for (let ms = 0; ms < idleMs; ms += keepaliveMs / 2) {
        await clock.advance(keepaliveMs / 2);
        pong();
        client.send(frame(frameTypes.ping, 0, 0, Buffer.from('received')));
        const before = pings();
        await eventually('the answer', () => pings() > before);
      }
      // The second one is read slowly.
      client.send(numbersFrame(frameTypes.windowUpdate, 3, 10));
      const { length } = client.body(3);
      await eventually('ten bytes', () => client.body(3).length === length + 10);
    }
    expect(streams.map(({ closed }) => closed)).to.deep.equal([true, false, false]);
    expect((await client.next('reset', 1)).payload.readUInt32BE(0)).to.equal(errorCodes.cancel);
  });

  it('ends when the server stops, after the calls that are under way', async () => {
    client.send(client.call(1, false));
    await eventually('the call', () => streams.length === 1);
    server.connections[0]!.drain();
    const goAway = await client.next('goAway');
    expect(goAway.payload.readUInt32BE(0), 'the last stream that is processed').to.equal(1);
    client.send(client.call(3, true), client.data(1, Buffer.from('rest'), true));
    await client.answered(1);
    expect(client.body(1).toString()).to.equal('rest');
    await eventually('the end', () => client.closed);
    expect(streams).to.have.length(1);
    expect(client.of('headers', 3)).to.have.length(0);
  });

  it('ends at once when the server stops without a call', async () => {
    server.connections[0]!.drain();
    expect(await client.ended()).to.equal(errorCodes.none);
    await eventually('the end', () => client.closed);
  });

  it('ends for a client that does not close its side', async () => {
    const [socket] = server.sockets;
    const stays = new RawClient((socket!.address() as { port: number }).port);
    stays.socket.allowHalfOpen = true;
    await stays.next('settings');
    server.connections[1]!.drain();
    await eventually('the end of sending', () => server.sockets[1]!.writableFinished);
    expect(server.sockets[1]!.destroyed).to.equal(false);
    await clock.advance(1_000);
    await eventually('the end', () => server.sockets[1]!.destroyed);
    stays[Symbol.dispose]();
  });

  it('ends calls whose client is gone', async () => {
    client.send(client.call(1, false));
    await eventually('the call', () => streams.length === 1);
    client[Symbol.dispose]();
    await eventually('the end', () => streams[0]!.closed);
    streams[0]!.respond({ recurring: [] });
    streams[0]!.write(Buffer.alloc(10));
    streams[0]!.end({ recurring: [] });
    expect(streams[0]!.queuedBytes).to.equal(0);
  });

  /** Three connections with 100 calls each. */
  const threeHundred = async (): Promise<readonly RawClient[]> => {
    const { port } = server;
    const all = [client, new RawClient(port), new RawClient(port)];
    for (const one of all)
      one.send(...Array.from({ length: 100 }, (_, n) => one.call(2 * n + 1, false)));
    await eventually('the calls', () => streams.length === 300);
    return all;
  };
  /** Counts the streams that end, and the most of them in one turn of the event loop. */
  const countEnds = (): { ended: number; most: number } => {
    const counts = { ended: 0, most: 0 };
    let inTurn = 0;
    for (const { events } of streams)
      events!.onClose = () => {
        if (inTurn === 0) setImmediate(() => (inTurn = 0));
        counts.ended += 1;
        inTurn += 1;
        counts.most = Math.max(counts.most, inTurn);
      };
    return counts;
  };

  it('ends the streams of connections that close together over several turns', async () => {
    await threeHundred();
    const counts = countEnds();
    for (const socket of server.sockets) socket.destroy();
    await eventually('their ends', () => counts.ended === 300);
    expect(counts.most).to.be.at.most(64);
    await eventually('the ends of the connections', () => server.closed >= 3);
  });

  it('ends the streams of connections that break the protocol over several turns', async () => {
    const all = await threeHundred();
    const counts = countEnds();
    for (const one of all) one.send(frame(frameTypes.data, 0, 0, Buffer.alloc(1)));
    for (const one of all) expect(await one.ended()).to.equal(errorCodes.protocol);
    await eventually('their ends', () => counts.ended === 300);
    expect(counts.most).to.be.at.most(64);
    await eventually('the ends of the connections', () => server.closed >= 3);
  });

  it('ends answers that are not read over several turns', async () => {
    client[Symbol.dispose]();
    await server[Symbol.asyncDispose]();
    const accept = (stream: Http2Stream): void => {
      streams.push(stream);
      echo(stream);
    };
    server = new RawServer(accept, { clock, keepaliveMs: 10 * idleMs, idleMs });
    client = new RawClient(await server.listen());
    await threeHundred();
    for (const stream of streams) {
      stream.respond({ recurring: [[':status', '200']] });
      stream.write(Buffer.alloc(70_000));
      stream.end({ recurring: [['grpc-status', '0']] });
    }
    const counts = countEnds();
    await clock.advance(idleMs);
    expect(counts.ended).to.equal(0);
    await clock.advance(idleMs);
    await eventually('their ends', () => counts.ended === 300);
    expect(counts.most).to.be.at.most(64);
  });
});
