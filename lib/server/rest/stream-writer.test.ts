import { createServer, type Server } from 'node:http';
import { type AddressInfo, connect, type Socket } from 'node:net';
import { expect } from 'chai';
import type { FastifyReply } from 'fastify';
import type { JsonObject } from '../../rpc/index.js';
import { eventually } from '../../testing/index.js';
import { WaitingBytes } from '../transport/paced-writes.js';
import { sendStream } from './stream.js';

const messageBytes = 1_048_576;

describe('streams of REST that nobody reads', () => {
  let server: Server;
  let sockets: Socket[];
  /** Streams that ended, by number. */
  let ended: number[];
  /** Messages of all streams. */
  let sent: number;

  /** Sends without end, to each client in its order a stream of its own. */
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

  /** A client that reads nothing, once its stream has filled what is on the way. */
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
    it(`have one budget: beyond it the one that waits longest loses its connection (${form})`, async () => {
      await serve(form, new WaitingBytes(1.5 * messageBytes));
      await unread();
      // Nothing more is taken on its way: it waits before the next one does.
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
