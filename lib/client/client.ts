import {
  type ClientOptions,
  Client as GrpcClient,
  credentials,
  Metadata,
  type ServiceError,
} from '@grpc/grpc-js';
import { type StatusError, systemClock } from '../base/index.js';
import {
  decodeStatus,
  type DescMethod,
  type JsonObject,
  type SchemaRegistry,
  statusDetailsKey,
} from '../rpc/index.js';

/** Where and as whom a client calls. */
export interface ApiClientOptions {
  /** `host:port` of the gRPC endpoint. */
  readonly server: string;
  readonly token: string | undefined;
  readonly schemas: SchemaRegistry;
  readonly packageName: string;
  /** Deadline of unary calls in milliseconds; default 30 s. */
  readonly timeoutMs?: number;
}

const identity = (bytes: Buffer): Buffer => bytes;
const defaultTimeoutMs = 30_000;
/** Doubles the rate at which lists and streams arrive (research/performance.md section 4). */
const windowBytes = 4 * 1024 * 1024;

/** Calls any method of an API by name with JSON, over gRPC. */
export class ApiClient {
  readonly #options: ApiClientOptions;
  readonly #grpc: GrpcClient;
  readonly #methods: ReadonlyMap<string, { readonly path: string; readonly desc: DescMethod }>;

  constructor(options: ApiClientOptions) {
    this.#options = options;
    const channel: ClientOptions = {
      'grpc-node.flow_control_window': windowBytes,
      'grpc.max_receive_message_length': -1,
    };
    this.#grpc = new GrpcClient(options.server, credentials.createInsecure(), channel);
    this.#methods = new Map(
      options.schemas.services(options.packageName).flatMap((service) =>
        service.methods.map((desc) => {
          const path = `/${service.typeName}/${desc.name}`;
          return [`${service.name}.${desc.name}`, { path, desc }] as const;
        }),
      ),
    );
  }

  /** One request, one answer. @throws StatusError as the server sent it. */
  call(id: string, request: JsonObject): Promise<JsonObject> {
    const { path, desc } = this.#method(id);
    const bytes = this.#encode(desc, request);
    const deadline = systemClock.now() + (this.#options.timeoutMs ?? defaultTimeoutMs);
    return new Promise((resolve, reject) => {
      this.#grpc.makeUnaryRequest(
        path,
        identity,
        identity,
        bytes,
        this.#metadata(),
        { deadline },
        (error, answer) => {
          if (error) reject(this.#error(error));
          else resolve(this.#options.schemas.decode(desc.output, answer ?? Buffer.alloc(0)));
        },
      );
    });
  }

  /** One request, a stream of answers; ends quietly when `signal` aborts. */
  async *stream(id: string, request: JsonObject, signal: AbortSignal): AsyncIterable<JsonObject> {
    const { path, desc } = this.#method(id);
    const bytes = this.#encode(desc, request);
    const call = this.#grpc.makeServerStreamRequest(
      path,
      identity,
      identity,
      bytes,
      this.#metadata(),
    );
    const cancel = (): void => call.cancel();
    signal.addEventListener('abort', cancel, { once: true });
    try {
      for await (const answer of call)
        yield this.#options.schemas.decode(desc.output, answer as Buffer);
    } catch (error) {
      if (!signal.aborted) throw this.#error(error as ServiceError);
    } finally {
      signal.removeEventListener('abort', cancel);
      call.cancel();
    }
  }

  close(): void {
    this.#grpc.close();
  }

  [Symbol.dispose](): void {
    this.close();
  }

  #method(id: string): { readonly path: string; readonly desc: DescMethod } {
    const method = this.#methods.get(id);
    if (!method) throw new TypeError(`no method ${id} in package ${this.#options.packageName}`);
    return method;
  }

  #encode(desc: DescMethod, request: JsonObject): Buffer {
    return Buffer.from(this.#options.schemas.encode(desc.input, request));
  }

  #metadata(): Metadata {
    const metadata = new Metadata();
    if (this.#options.token !== undefined)
      metadata.set('authorization', `Bearer ${this.#options.token}`);
    return metadata;
  }

  #error(error: ServiceError): StatusError {
    const details = error.metadata?.get(statusDetailsKey)[0];
    const bytes = Buffer.isBuffer(details) ? details : undefined;
    return decodeStatus(error.code, error.details || error.message, bytes);
  }
}
