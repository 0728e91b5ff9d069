import { createServer, type Server } from 'node:http';
import { type AddressInfo, connect, type Socket } from 'node:net';
import { expect } from 'chai';
import type { FastifyReply } from 'fastify';
import type { JsonObject } from '../../rpc/index.js';
import { eventually } from '../../testing/index.js';
import { WaitingBytes } from '../transport/paced-writes.js';
import { sendStream } from './stream.js';

const messageBytes = 1_048_576;

describe('REST streams that are not read', () => {
  let server: Server;
  let sockets: Socket[];
  /** Numbers of the streams that ended. */
  let ended: number[];
  /** Number of messages of all streams. */
  let sent: number;

  /** Serves an endless stream to each client, numbered from 1. */
  async function serve(form: 'events' | 'lines', waiting: WaitingBytes): Promise<void> {
    let streams = 0;
    server = createServer((_request, response) => {
      const number = (streams += 1);
      const gone = new AbortController();
      response.on('close', () => gone.abort());
      const answers = (async function* (): AsyncIterable<JsonObject> {
        try {
          for (;;) {
            sent += 1;
            yield { text: 'x'.repeat(messageBytes) };
          }
        } finally {
          ended.push(number);
        }
      })();
      void sendStream({
        reply: { raw: response, hijack: () => undefined } as unknown as FastifyReply,
        answers,
        form,
        headers: {},
        signal: gone.signal,
        waiting,
        requestId: '',
        report: () => undefined,
      });
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  }

  /** A client that reads nothing, after its stream has filled all buffers on the path. */
  async function unread(): Promise<Socket> {
    const socket = connect((server.address() as AddressInfo).port, '127.0.0.1');
    sockets.push(socket);
    socket.on('error', () => undefined);
    socket.write('GET / HTTP/1.1\r\nhost: localhost\r\n\r\n');
    await new Promise((resolve) => socket.once('readable', resolve));
    return socket;
  }

  beforeEach(() => {
    sockets = [];
    ended = [];
    sent = 0;
  });
  afterEach(async () => {
    for (const socket of sockets) socket.destroy();
    await new Promise((resolve) => server.close(resolve));
  });

  for (const form of ['events', 'lines'] as const)
    it(`share one budget: beyond it the one that waits longest is disconnected (${form})`, async () => {
      await serve(form, new WaitingBytes(1.5 * messageBytes));
      await unread();
      // The first stream must be full before the second one begins: no more messages are sent then.
      let [before, same] = [0, 0];
      await eventually('the first is full', async () => {
        same = sent === before ? same + 1 : 0;
        before = sent;
        return same > 20;
      });
      const second = await unread();
      await eventually('the first is cut', async () => ended.includes(1));
      expect(ended).to.deep.equal([1]);
      expect(second.destroyed).to.equal(false);
    });
});
