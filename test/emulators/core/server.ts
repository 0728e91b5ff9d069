import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Delivery, Emulator } from './emulator.js';
import { jsonReply, type WireRequest } from './wire.js';

/** A listening emulator. */
export interface EmulatorServer {
  /** Scheme, host and port. */
  readonly endpoint: string;
  /** Stops listening and ends every connection, including those that wait for an answer. */
  close(): Promise<void>;
}

/** Limit of a body in bytes: more than any request of a volume API has. The provider's limit is not known. */
const bodyMax = 2 ** 20;

async function received(incoming: IncomingMessage): Promise<WireRequest | undefined> {
  const chunks: Buffer[] = [];
  let length = 0;
  for await (const chunk of incoming as AsyncIterable<Buffer>) {
    length += chunk.length;
    if (length > bodyMax) return undefined;
    chunks.push(chunk);
  }
  const url = new URL(incoming.url ?? '/', 'http://emulator');
  const headers = Object.entries(incoming.headers).map(
    ([name, value]) => [name, Array.isArray(value) ? value.join(', ') : (value ?? '')] as const,
  );
  return {
    method: incoming.method ?? 'GET',
    path: url.pathname,
    query: [...url.searchParams],
    headers: Object.fromEntries(headers),
    body: Buffer.concat(chunks).toString('utf8'),
  };
}

function send(delivery: Delivery, response: ServerResponse): void {
  switch (delivery.type) {
    case 'silence':
      return;
    case 'reset':
      response.socket?.resetAndDestroy();
      return;
    case 'endless': {
      const { status, headers, body } = delivery.reply;
      // A 204 ends with its header, so it can't be endless.
      const shown = status === 204 ? 200 : status;
      response.writeHead(shown, { ...headers, 'content-length': Buffer.byteLength(body) + 1 });
      response.write(body === '' ? ' ' : body.slice(0, -1));
      return;
    }
    case 'reply': {
      const { status, headers, body } = delivery.reply;
      const length = status === 204 ? {} : { 'content-length': Buffer.byteLength(body) };
      response.writeHead(status, { ...headers, ...length });
      response.end(body);
    }
  }
}

/** Serves an emulator, or the metadata of an instance, on the loopback address. Port 0 means any free port. */
export async function serveEmulator(
  emulator: Pick<Emulator, 'exchange'>,
  port: number,
): Promise<EmulatorServer> {
  const answer = async (incoming: IncomingMessage, response: ServerResponse): Promise<void> => {
    const request = await received(incoming);
    const delivery: Delivery = request
      ? await emulator.exchange(request)
      : { type: 'reply', reply: jsonReply(413, { id: 'payload_too_large' }) };
    send(delivery, response);
  };
  const server = createServer((incoming, response) => {
    // An emulator that fails must not look like a provider: the connection ends without an answer.
    answer(incoming, response).catch((error: unknown) => {
      console.error(error);
      response.destroy();
    });
  });
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, '127.0.0.1', resolve);
  });
  const { port: taken } = server.address() as AddressInfo;
  return {
    endpoint: `http://127.0.0.1:${taken}`,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}
