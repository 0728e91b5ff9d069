import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { mkdtemp, rm } from 'node:fs/promises';
import type { Duplex } from 'node:stream';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** Answers a request. `url` includes the API version and the query. */
export type EngineAnswer = (request: IncomingMessage, response: ServerResponse) => void;

/** A fake container engine, for answers that a real one does not produce on request. */
export class FakeEngine {
  readonly socketPath: string;
  /** Recorded requests: `GET /v1.41/containers/json?all=true`. */
  readonly calls: string[] = [];
  /** The answer of `/version`. */
  version: unknown = { Version: '20.10.24', ApiVersion: '1.41', MinAPIVersion: '1.12' };
  /** Answers all requests except `/version`. */
  answer: EngineAnswer = (_request, response) => {
    response.writeHead(404).end(JSON.stringify({ message: 'page not found' }));
  };
  /** Handles a request that asks for a connection upgrade; undefined rejects it. */
  upgrade: ((request: IncomingMessage, socket: Duplex) => void) | undefined;
  readonly #directory: string;
  readonly #server: Server;

  private constructor(directory: string) {
    this.#directory = directory;
    this.socketPath = join(directory, 'engine.sock');
    this.#server = createServer((request, response) => {
      this.calls.push(`${request.method ?? ''} ${request.url ?? ''}`);
      if (request.url === '/version') json(response, 200, this.version);
      else this.answer(request, response);
    });
    this.#server.on('upgrade', (request: IncomingMessage, socket: Duplex) => {
      this.calls.push(`${request.method ?? ''} ${request.url ?? ''}`);
      if (this.upgrade) this.upgrade(request, socket);
      else socket.end('HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n');
    });
  }

  /** Starts an engine that listens on a socket. */
  static async start(): Promise<FakeEngine> {
    const engine = new FakeEngine(await mkdtemp(join(tmpdir(), 'kedge-engine-')));
    await new Promise<void>((resolve) => engine.#server.listen(engine.socketPath, resolve));
    return engine;
  }

  /** Stops the engine and closes its connections. */
  async stop(): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
    await rm(this.#directory, { recursive: true, force: true });
  }
}

/** Answers with JSON. */
export function json(response: ServerResponse, status: number, body: unknown): void {
  response.writeHead(status, { 'Content-Type': 'application/json' }).end(JSON.stringify(body));
}

/** A frame of a container's stream. Type 1 is standard output, 2 standard error, 3 an error of the engine. */
export function frame(type: number, data: string | Buffer): Buffer {
  const bytes = Buffer.from(data);
  const header = Buffer.from([type, 0, 0, 0, 0, 0, 0, 0]);
  header.writeUInt32BE(bytes.length, 4);
  return Buffer.concat([header, bytes]);
}
