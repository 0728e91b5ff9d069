import { createServer, type IncomingMessage, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';

/** A request that was received. */
export interface Received {
  readonly method: string;
  /** Without the query. */
  readonly path: string;
  readonly query: Readonly<Record<string, string>>;
  readonly body: Readonly<Record<string, unknown>>;
  readonly token: string;
}

/** An answer; without a status the connection is closed without one. */
export interface Played {
  readonly status?: number;
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
}

interface Script {
  readonly matches: (received: Received) => boolean;
  readonly played: Played;
  /** Whether the request takes effect before the scripted answer. */
  readonly after: boolean;
  times: number;
}

/** A provider's HTTP interface on a port of this machine, with scripted answers before its own. */
export abstract class PlayedHttp {
  readonly received: Received[] = [];
  readonly #scripts: Script[] = [];
  readonly #server: Server = createServer((request, response) => {
    void this.#serve(request).then(({ status, body, headers }) => {
      if (status === undefined) return request.socket.destroy();
      response.writeHead(status, { 'ratelimit-limit': '100000000', ...headers });
      response.end(
        typeof body === 'string' ? body : body === undefined ? '' : JSON.stringify(body),
      );
      return undefined;
    });
  });

  async listen(): Promise<void> {
    await new Promise<void>((resolve) => {
      this.#server.listen(0, '127.0.0.1', resolve);
    });
  }

  get endpoint(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  async close(): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((resolve) => {
      this.#server.close(resolve);
    });
  }

  /** The next requests of `method` whose path fits are answered so, before or after they took effect. */
  play(method: string, path: RegExp, played: Played, { times = 1, after = false } = {}): void {
    const matches = (received: Received): boolean =>
      received.method === method && path.test(received.path);
    this.#scripts.push({ matches, played, times, after });
  }

  async #serve(request: IncomingMessage): Promise<Played> {
    let text = '';
    for await (const part of request) text += String(part);
    const url = new URL(request.url ?? '/', 'http://of.test');
    const received: Received = {
      method: request.method ?? '',
      path: url.pathname,
      query: Object.fromEntries(url.searchParams),
      body: text === '' ? {} : (JSON.parse(text) as Received['body']),
      token: (request.headers.authorization ?? '').replace(/^Bearer /, ''),
    };
    this.received.push(received);
    const script = this.#scripts.find(({ times, matches }) => times > 0 && matches(received));
    if (script) script.times -= 1;
    if (script && !script.after) return script.played;
    const played = await this.answer(received).catch((error: Error) => ({
      status: 500,
      body: { id: 'double', message: error.stack },
    }));
    return script?.played ?? played;
  }

  /** The provider's own answer. */
  protected abstract answer(received: Received): Promise<Played>;
}
