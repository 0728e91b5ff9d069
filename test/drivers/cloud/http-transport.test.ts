import { createServer, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect } from 'chai';
import { httpTransport, type TransportError } from '@kedge/driver-sdk/provider';

describe('requests over HTTP', () => {
  let server: Server;
  let origin: string;
  let answer: (response: ServerResponse) => void;
  const transport = httpTransport();
  beforeEach(async () => {
    server = createServer((_, response) => answer(response));
    await new Promise<void>((resolve) => {
      server.listen(0, '127.0.0.1', resolve);
    });
    origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  });
  afterEach(() => {
    server.closeAllConnections();
    server.close();
  });

  const get = (signal = new AbortController().signal, url = origin) =>
    transport({ method: 'GET', url: new URL('/x', url), headers: {}, signal });
  const refused = async (promise: Promise<unknown>): Promise<TransportError> =>
    promise.then(
      () => expect.fail('no error'),
      (error: unknown) => error as TransportError,
    );

  it('reads status, headers and text, and follows no redirect', async () => {
    answer = (response) => {
      response.writeHead(302, { location: '/elsewhere', 'x-request-id': 'r1' });
      response.end('moved');
    };
    const { status, headers, text } = await get();
    expect({ status, text, id: headers['x-request-id'] }).to.deep.equal({
      status: 302,
      text: 'moved',
      id: 'r1',
    });
  });

  it('gives up an answer without an end: a body over 1 MiB, and one that is cut off', async () => {
    answer = (response) => {
      const more = (): void => {
        while (response.write(Buffer.alloc(64 * 1024)));
        response.once('drain', more);
      };
      more();
    };
    expect((await refused(get())).message).to.contain('longer than 1048576 bytes');
    answer = (response) => {
      response.writeHead(200, { 'content-length': '100' });
      response.write('half', () => response.destroy());
    };
    expect((await refused(get())).sent).to.equal(true);
  });

  it('ends with its signal while the provider is silent', async () => {
    const abort = new AbortController();
    answer = () => abort.abort();
    expect((await refused(get(abort.signal))).sent).to.equal(true);
  });

  it('reports that nothing was sent over a refused connection', async () => {
    const { port } = server.address() as AddressInfo;
    await new Promise((resolve) => {
      server.close(resolve);
    });
    const error = await refused(get(undefined, `http://127.0.0.1:${port}`));
    expect({ message: error.message, sent: error.sent }).to.deep.equal({
      message: 'ECONNREFUSED',
      sent: false,
    });
  });
});
