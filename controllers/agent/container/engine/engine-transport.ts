import { statSync } from 'node:fs';
import { type IncomingMessage, request as openRequest } from 'node:http';
import type { Duplex, Readable } from 'node:stream';
import type { Clock } from 'kedge';
import { isJsonObject, type JsonObject, textOf } from 'kedge/rpc';
import { CallDeadline } from './call-deadline.js';
import { EngineError, kindOfStatus, socketError } from './engine-error.js';

/** A call of the Docker Engine API. */
export interface EngineCall {
  readonly method: 'GET' | 'POST' | 'DELETE';
  /** Path with the API version, such as `/v1.41/containers/json`. */
  readonly path: string;
  readonly query?: Readonly<Record<string, string | number | boolean | undefined>>;
  readonly headers?: Readonly<Record<string, string>>;
  /** An object is sent as JSON, a stream unchanged. */
  readonly body?: JsonObject | Readable;
  readonly signal: AbortSignal;
  /** Milliseconds until the answer is complete, or until a streamed answer begins. Default 30 s. */
  readonly timeoutMs?: number;
}

/** A streamed answer of the engine. */
export interface EngineStream {
  readonly body: Readable;
  /** Sets the idle timeout of the stream; undefined: none. */
  within(ms: number | undefined): void;
  /** The error if the deadline or the caller ended the stream; undefined otherwise. */
  failure(): EngineError | undefined;
  close(): void;
}

/** A connection to a process inside a container. */
export interface EngineConnection {
  readonly socket: Duplex;
  /** Bytes that arrived with the head of the answer. */
  readonly head: Buffer;
}

const callMs = 30_000;
/** Maximum bytes of an answer. The list of a thousand containers needs a tenth of it. */
const answerBytesMax = 16 * 1024 * 1024;
/** Maximum bytes of an error that are read, and maximum characters that are shown. */
const refusalBytesMax = 64 * 1024;
const refusalCharactersMax = 1_000;

function target({ path, query = {} }: EngineCall): string {
  const words = new URLSearchParams();
  for (const [name, value] of Object.entries(query))
    if (value !== undefined) words.set(name, String(value));
  const text = words.toString();
  return text === '' ? path : `${path}?${text}`;
}

async function read(body: Readable, bytesMax: number): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of body as AsyncIterable<Buffer>) {
    size += chunk.length;
    if (size > bytesMax)
      throw new EngineError('Malformed', `the answer is longer than ${bytesMax} bytes`);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}

/**
 * Whether the socket does not exist. On a machine without an engine every instance of a container checks this, and a
 * stat is much cheaper than a failing connection. The connection reports all other problems of the path. The stat is
 * bigint, because after another one of a socket Node's module loader does not resolve symbolic links
 * (nodejs/node#51142), and drivers are loaded when they are needed.
 */
function isMissing(socketPath: string): boolean {
  try {
    return statSync(socketPath, { bigint: true, throwIfNoEntry: false }) === undefined;
  } catch {
    return false;
  }
}

/** The message of a refusal: `message` of a JSON object, empty without one, or the text of another body. */
function refusalText(body: Buffer): string {
  const text = body.toString('utf8').trim();
  try {
    const parsed: unknown = JSON.parse(text);
    if (isJsonObject(parsed))
      return textOf(parsed, 'message').trim().slice(0, refusalCharactersMax);
  } catch {
    // The body is not in the engine's form and is shown unchanged.
  }
  return text.slice(0, refusalCharactersMax);
}

const missing = Object.assign(new Error('it does not exist'), { code: 'ENOENT' });

type Opened =
  | { readonly type: 'answer'; readonly response: IncomingMessage }
  | { readonly type: 'connection'; readonly connection: EngineConnection };

/**
 * HTTP over the engine's unix socket. Each call has its own connection: opening one is cheap, and a kept one
 * may belong to an engine that has restarted.
 */
export class EngineTransport {
  readonly socketPath: string;
  readonly #clock: Clock;

  constructor(socketPath: string, clock: Clock) {
    this.socketPath = socketPath;
    this.#clock = clock;
  }

  /**
   * Sends a call and returns its answer, parsed as JSON; undefined if the answer is empty.
   * @throws EngineError
   */
  async call(call: EngineCall): Promise<unknown> {
    const what = `${call.method} ${call.path}`;
    const deadline = new CallDeadline(this.#clock, what, call.signal);
    deadline.within(call.timeoutMs ?? callMs);
    try {
      const opened = await this.#open(call, deadline.signal);
      const body = await this.#guard(
        deadline,
        read(await this.#accepted(opened, deadline), answerBytesMax),
      );
      if (body.length === 0) return undefined;
      return JSON.parse(body.toString('utf8')) as unknown;
    } catch (error) {
      if (error instanceof SyntaxError)
        throw new EngineError('Malformed', `the answer to ${what} is not JSON`, { cause: error });
      throw error;
    } finally {
      deadline.over();
    }
  }

  /**
   * Sends a call and returns its answer as a stream, which the caller must close.
   * @throws EngineError
   */
  async stream(call: EngineCall): Promise<EngineStream> {
    const deadline = new CallDeadline(this.#clock, `${call.method} ${call.path}`, call.signal);
    deadline.within(call.timeoutMs ?? callMs);
    try {
      const body = await this.#accepted(await this.#open(call, deadline.signal), deadline);
      deadline.within(undefined);
      body.once('close', () => deadline.over());
      // The error reaches the reader through the iteration. Without a reader it must not end the process.
      body.on('error', () => undefined);
      return {
        body,
        within: (ms) => deadline.within(ms),
        failure: () => deadline.failure(),
        close: () => body.destroy(),
      };
    } catch (error) {
      deadline.over();
      throw error;
    }
  }

  /**
   * Sends a call that turns its connection into a connection to a process, and returns this connection.
   * @throws EngineError
   */
  async upgrade(call: EngineCall): Promise<EngineConnection> {
    const deadline = new CallDeadline(this.#clock, `${call.method} ${call.path}`, call.signal);
    deadline.within(call.timeoutMs ?? callMs);
    try {
      const headers = { ...call.headers, Connection: 'Upgrade', Upgrade: 'tcp' };
      const opened = await this.#open({ ...call, headers }, deadline.signal);
      if (opened.type === 'connection') return opened.connection;
      const { statusCode = 0 } = await this.#accepted(opened, deadline);
      opened.response.destroy();
      const message = `${call.path} was answered with status ${statusCode} instead of an upgraded connection`;
      throw new EngineError('Malformed', message);
    } finally {
      deadline.over();
    }
  }

  #open(call: EngineCall, signal: AbortSignal): Promise<Opened> {
    return new Promise((resolve, reject) => {
      if (signal.aborted) {
        reject(signal.reason as Error);
        return;
      }
      if (isMissing(this.socketPath)) {
        reject(socketError(this.socketPath, missing));
        return;
      }
      const { body } = call;
      const isStream = body !== undefined && 'pipe' in body;
      const json = body === undefined || isStream ? undefined : JSON.stringify(body);
      const request = openRequest({
        socketPath: this.socketPath,
        method: call.method,
        path: target(call),
        agent: false,
        signal,
        headers: {
          ...call.headers,
          ...(json !== undefined && {
            'Content-Type': 'application/json',
            'Content-Length': Buffer.byteLength(json),
          }),
        },
      });
      request.once('response', (response) => resolve({ type: 'answer', response }));
      request.once('upgrade', (_response, socket, head) => {
        resolve({ type: 'connection', connection: { socket, head } });
      });
      // The listener stays: an error after the answer would be uncaught otherwise. The reader of the answer receives it
      // too.
      request.on('error', (error: NodeJS.ErrnoException) => {
        reject(signal.aborted ? (signal.reason as Error) : socketError(this.socketPath, error));
      });
      if (!isStream) {
        request.end(json);
        return;
      }
      const source = body as Readable;
      source.once('error', (error) => {
        request.destroy();
        reject(error);
      });
      source.pipe(request);
    });
  }

  /**
   * Returns the answer of a call that the engine accepted. @throws EngineError with the engine's message if it was
   * refused
   */
  async #accepted(opened: Opened, deadline: CallDeadline): Promise<IncomingMessage> {
    if (opened.type === 'connection') {
      opened.connection.socket.destroy();
      throw new EngineError('Malformed', 'the engine switched protocols without a request');
    }
    const { response } = opened;
    const { statusCode: status = 0 } = response;
    if (status >= 200 && status < 400) return response;
    const body = await this.#guard(deadline, read(response, refusalBytesMax));
    const text = refusalText(body) || `HTTP status ${status}`;
    throw new EngineError(kindOfStatus(status), text, { status });
  }

  async #guard<T>(deadline: CallDeadline, reading: Promise<T>): Promise<T> {
    try {
      return await reading;
    } catch (error) {
      const ended = deadline.failure();
      if (ended) throw ended;
      if (error instanceof EngineError) throw error;
      throw socketError(this.socketPath, error as NodeJS.ErrnoException);
    }
  }
}
