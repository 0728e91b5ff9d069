// An HTTP/2 client that sends any bytes, and a server, for tests. This file has no tests.
import { connect, createServer, type AddressInfo, type Server, type Socket } from 'node:net';
import { type Clock, systemClock } from '../../base/index.js';
import { eventually } from '../../testing/index.js';
import { Http2Connection } from './connection.js';
import { frame, frameFlags, frameTypes, preface, settingsFrame } from './frames.js';
import { HeaderDecoder } from './header-decoder.js';
import { HeaderEncoder } from './header-encoder.js';
import type { Header } from './static-table.js';
import type { Http2Stream, StreamRequest } from './stream.js';

/** A frame that the server has sent. */
export interface ReceivedFrame {
  readonly type: number;
  readonly flags: number;
  readonly stream: number;
  readonly payload: Buffer;
  /** The headers of a HEADERS frame. */
  readonly headers: Readonly<Record<string, string>>;
}

const names = Object.entries(frameTypes);

export class RawClient implements Disposable {
  readonly socket: Socket;
  readonly frames: ReceivedFrame[] = [];
  readonly #encoder = new HeaderEncoder();
  readonly #decoder = new HeaderDecoder();
  #rest = Buffer.alloc(0);
  closed = false;

  /** @param begins false: the client sends neither the preface nor settings */
  constructor(port: number, begins = true) {
    this.socket = connect(port, '127.0.0.1');
    this.socket.on('error', () => undefined);
    this.socket.on('close', () => (this.closed = true));
    this.socket.on('data', (bytes) => this.#take(bytes));
    if (begins) this.send(preface, settingsFrame([]));
  }

  send(...bytes: readonly Buffer[]): void {
    this.socket.write(Buffer.concat(bytes));
  }

  /** A frame that begins a call. */
  call(id: number, isEnd: boolean, others: readonly Header[] = [], path = '/some/Call'): Buffer {
    const block = this.#encoder.encode(
      [
        [':method', 'POST'],
        [':scheme', 'http'],
        [':authority', 'localhost'],
        [':path', path],
        ['content-type', 'application/grpc'],
      ],
      others,
    );
    const flags = frameFlags.endHeaders | (isEnd ? frameFlags.endStream : 0);
    return frame(frameTypes.headers, flags, id, block);
  }

  data(id: number, bytes: Buffer, isEnd = false): Buffer {
    return frame(frameTypes.data, isEnd ? frameFlags.endStream : 0, id, bytes);
  }

  of(type: keyof typeof frameTypes, stream?: number): readonly ReceivedFrame[] {
    return this.frames.filter(
      (given) =>
        given.type === frameTypes[type] && (stream === undefined || given.stream === stream),
    );
  }

  /** Waits for a frame of a type, and returns the latest one. */
  async next(type: keyof typeof frameTypes, stream?: number): Promise<ReceivedFrame> {
    await eventually(`a frame ${type}`, () => this.of(type, stream).length > 0);
    return this.of(type, stream).at(-1)!;
  }

  /** Waits for the error that ends the connection. */
  async ended(): Promise<number> {
    return (await this.next('goAway')).payload.readUInt32BE(4);
  }

  /** Waits for the headers that end a stream. */
  async answered(stream: number): Promise<Readonly<Record<string, string>>> {
    const ends = (): ReceivedFrame | undefined =>
      this.of('headers', stream).find(({ flags }) => flags & frameFlags.endStream);
    await eventually('the end of the answer', () => ends() !== undefined);
    return ends()!.headers;
  }

  /** The data of a stream so far. */
  body(stream: number): Buffer {
    return Buffer.concat(this.of('data', stream).map(({ payload }) => payload));
  }

  [Symbol.dispose](): void {
    this.socket.destroy();
  }

  #take(bytes: Buffer): void {
    let rest = Buffer.concat([this.#rest, bytes]);
    while (rest.length >= 9 && rest.length >= 9 + rest.readUIntBE(0, 3)) {
      const end = 9 + rest.readUIntBE(0, 3);
      const payload = Buffer.from(rest.subarray(9, end));
      const type = rest[3]!;
      const headers =
        names[type]?.[0] === 'headers'
          ? Object.fromEntries(this.#decoder.decode(payload).headers)
          : {};
      this.frames.push({
        type,
        flags: rest[4]!,
        stream: rest.readUInt32BE(5),
        payload,
        headers,
      });
      rest = rest.subarray(end);
    }
    this.#rest = rest;
  }
}

/** A server that accepts streams of HTTP/2. */
export class RawServer implements AsyncDisposable {
  readonly #server: Server;
  readonly connections: Http2Connection[] = [];
  readonly sockets: Socket[] = [];
  readonly broken: unknown[] = [];
  closed = 0;

  constructor(
    accept: (stream: Http2Stream, request: StreamRequest) => void,
    options: { clock?: Clock; idleMs?: number; keepaliveMs?: number; streamsMax?: number } = {},
  ) {
    this.#server = createServer((socket) => {
      this.sockets.push(socket);
      this.connections.push(
        new Http2Connection(socket, {
          clock: systemClock,
          streamsMax: 256,
          idleMs: 300_000,
          keepaliveMs: 30_000,
          accept,
          closed: () => (this.closed += 1),
          broken: (error) => this.broken.push(error),
          ...options,
        }),
      );
    });
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port;
  }

  async listen(): Promise<number> {
    await new Promise<void>((resolve) => this.#server.listen(0, '127.0.0.1', resolve));
    return this.port;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const socket of this.sockets) socket.destroy();
    await new Promise((resolve) => this.#server.close(resolve));
  }
}

/** Answers each call with its data. */
export function echo(stream: Http2Stream): void {
  const parts: Buffer[] = [];
  stream.events = {
    onData: (bytes) => {
      parts.push(Buffer.from(bytes));
      stream.creditConnection(bytes.length);
      stream.creditStream(bytes.length);
    },
    onEnd: () => {
      stream.respond({ recurring: [[':status', '200']] });
      if (parts.length > 0) stream.write(Buffer.concat(parts));
      stream.end({ recurring: [['grpc-status', '0']] });
    },
    onClose: () => undefined,
  };
}
