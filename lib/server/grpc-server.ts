import type { AddressInfo } from 'node:net';
import {
  Metadata,
  Server,
  ServerCredentials,
  type ServerUnaryCall,
  type ServerWritableStream,
  type ServiceDefinition,
  type UntypedServiceImplementation,
} from '@grpc/grpc-js';
import {
  limits,
  type LinkedSignal,
  linkSignals,
  type Logger,
  type Random,
  statusCodes,
  systemClock,
} from '../base/index.js';
import {
  encodeStatus,
  type JsonObject,
  type SchemaRegistry,
  statusDetailsKey,
} from '../rpc/index.js';
import type { CallContext } from './call.js';
import type { Dispatcher } from './dispatcher.js';
import { publicError } from './error-body.js';
import type { MethodInfo } from '../rpc/index.js';
import { peerOf } from './peer.js';

/** Ports of a transport. */
export interface TransportOptions {
  readonly dispatcher: Dispatcher;
  readonly schemas: SchemaRegistry;
  readonly logger: Logger;
  readonly random: Random;
}

type Call = ServerUnaryCall<Buffer, Buffer> | ServerWritableStream<Buffer, Buffer>;

const identity = (bytes: Buffer): Buffer => bytes;
/** A connection may ask for a sign of life this often; a dead peer is noticed after twice that. */
const keepaliveMs = 30_000;

/** The dispatcher over gRPC. Messages are decoded in the handler, so that bad ones are InvalidArgument. */
export class GrpcServer {
  readonly #options: TransportOptions;
  readonly #server: Server;
  readonly #closing = new AbortController();

  constructor(options: TransportOptions) {
    this.#options = options;
    this.#server = new Server({
      'grpc.max_receive_message_length': limits.requestBytesMax,
      'grpc.keepalive_time_ms': keepaliveMs,
      'grpc.keepalive_timeout_ms': keepaliveMs,
    });
    for (const [definition, implementation] of this.#services())
      this.#server.addService(definition, implementation);
  }

  /** Starts listening; resolves to the port. */
  listen(host: string, port: number): Promise<number> {
    const address = host.includes(':') ? `[${host}]:${port}` : `${host}:${port}`;
    return new Promise((resolve, reject) => {
      this.#server.bindAsync(address, ServerCredentials.createInsecure(), (error, bound) => {
        if (error) reject(error);
        else resolve(bound);
      });
    });
  }

  /** Ends streams, lets calls finish for `graceMs`, then cuts them. */
  async close(graceMs = 2_000): Promise<void> {
    this.#closing.abort();
    await new Promise<void>((resolve) => {
      const cut = systemClock.setTimer(() => this.#server.forceShutdown(), graceMs);
      this.#server.tryShutdown(() => {
        cut.cancel();
        resolve();
      });
    });
  }

  #services(): [ServiceDefinition, UntypedServiceImplementation][] {
    const services = new Map<string, [ServiceDefinition, UntypedServiceImplementation]>();
    for (const method of this.#options.dispatcher.methods) {
      const service = method.grpcPath.split('/')[1] ?? '';
      const entry = services.get(service) ?? [{}, {}];
      services.set(service, entry);
      (entry[0] as Record<string, ServiceDefinition[string]>)[method.id] = {
        path: method.grpcPath,
        requestStream: false,
        responseStream: method.streaming,
        requestSerialize: identity,
        requestDeserialize: identity,
        responseSerialize: identity,
        responseDeserialize: identity,
      };
      entry[1][method.id] = method.streaming
        ? (call: ServerWritableStream<Buffer, Buffer>) => void this.#stream(method, call)
        : (
            call: ServerUnaryCall<Buffer, Buffer>,
            callback: (e: object | null, b?: Buffer) => void,
          ) => void this.#unary(method, call, callback);
    }
    return [...services.values()];
  }

  /** Ends with the call or the server, whichever is first. */
  #lifetime(call: Call): LinkedSignal {
    const gone = new AbortController();
    call.on('cancelled', () => gone.abort());
    return linkSignals(gone.signal, this.#closing.signal);
  }

  async #begin(
    method: MethodInfo,
    call: Call,
    signal: AbortSignal,
  ): Promise<{ readonly context: CallContext; readonly request: JsonObject }> {
    const headers = call.metadata.get('authorization');
    // Two authorization headers are one too many: which one counts would be a guess.
    const header = headers.length === 1 ? String(headers[0]) : undefined;
    const caller = await this.#options.dispatcher.authenticate(method, header);
    const request = this.#options.schemas.decode(method.input, call.request);
    const context = {
      identity: caller,
      peer: peerOf(call.getPeer()),
      requestId: this.#options.random.uuid(),
      signal,
    };
    return { context, request };
  }

  async #unary(
    method: MethodInfo,
    call: ServerUnaryCall<Buffer, Buffer>,
    callback: (error: object | null, bytes?: Buffer) => void,
  ): Promise<void> {
    using link = this.#lifetime(call);
    try {
      const { context, request } = await this.#begin(method, call, link.signal);
      const answer = await this.#options.dispatcher.unary(method, context, request);
      callback(null, this.#encode(method, answer));
    } catch (thrown) {
      callback(this.#failure(method, thrown));
    }
  }

  async #stream(method: MethodInfo, call: ServerWritableStream<Buffer, Buffer>): Promise<void> {
    using link = this.#lifetime(call);
    try {
      const { context, request } = await this.#begin(method, call, link.signal);
      for await (const answer of this.#options.dispatcher.stream(method, context, request)) {
        if (context.signal.aborted) break;
        // A reader that does not read stops the source, instead of filling memory.
        if (!call.write(this.#encode(method, answer))) await drained(call, context.signal);
      }
      call.end();
    } catch (thrown) {
      call.emit('error', this.#failure(method, thrown));
    }
  }

  #encode(method: MethodInfo, answer: JsonObject): Buffer {
    const bytes = this.#options.schemas.encode(method.output, answer);
    return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  }

  #failure(method: MethodInfo, thrown: unknown): object {
    const error = publicError(thrown);
    if (error.code === 'Internal')
      this.#options.logger.error('request failed', { method: method.id, error: thrown });
    const metadata = new Metadata();
    metadata.set(statusDetailsKey, Buffer.from(encodeStatus(error)));
    return { code: statusCodes[error.code], details: error.message, metadata };
  }
}

function drained(call: ServerWritableStream<Buffer, Buffer>, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const finish = (): void => {
      call.off('drain', finish);
      signal.removeEventListener('abort', finish);
      resolve();
    };
    call.once('drain', finish);
    signal.addEventListener('abort', finish, { once: true });
    if (signal.aborted) finish();
  });
}

/** Port of a listening address. */
export function portOf(address: AddressInfo | string | null): number {
  return typeof address === 'object' && address !== null ? address.port : 0;
}
