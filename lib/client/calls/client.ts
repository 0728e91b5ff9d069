import {
  type ClientDuplexStream,
  type ClientOptions,
  Client as GrpcClient,
  Metadata,
} from '@grpc/grpc-js';
import { hasCode, requireOptions, systemClock } from '../../base/index.js';
import type { ApiObject, Kind, Scope } from '../../object/index.js';
import {
  type DescMethod,
  httpRoute,
  type JsonObject,
  methodTable,
  present,
} from '../../rpc/index.js';
import { ResourceClient } from '../resources/resource-client.js';
import type { ResourceOptions } from '../resources/resource-options.js';
import { isIdempotent, retried } from './retry.js';
import { callError } from './call-error.js';
import { channelCredentials } from './channel-credentials.js';
import { clientRules, type ApiClientOptions, type CallOptions } from './client-options.js';
import { type AnsweringCall, answersOf } from './stream-answers.js';
import { waitForConnection } from './wait-for-connection.js';

const identity = (bytes: Buffer): Buffer => bytes;
const defaultTimeoutMs = 30_000;
const defaultKeepaliveMs = 10_000;
/** Flow-control window in bytes; doubles the throughput of lists and streams. */
const windowBytes = 4 * 1024 * 1024;

/**
 * Calls any method of an API by name with JSON, over gRPC; {@link ApiClient.resource} has the standard methods, typed.
 *
 * Guarantees:
 * - Each try of a unary call has a deadline. A peer that stops answering is noticed, and later calls get a new
 *   connection.
 * - With more than one attempt, a call is repeated if it was refused as ResourceExhausted. A call that failed as
 *   Unavailable is repeated only if it is a read, a dry run or a deletion by uid without a version. A call that failed
 *   as DeadlineExceeded is not repeated.
 * - A stream for which no connection is established within `timeoutMs` fails as Unavailable. Once connected, it may be
 *   idle for any time.
 * - A `token` function is asked for a new token when a call is refused as Unauthenticated, once per try.
 *
 * Ordering: the answers of a stream arrive in the order in which they were sent. Separate calls are not ordered.
 *
 * Errors: StatusErrors as the server sent them; Unavailable for a broken connection, DeadlineExceeded, Cancelled. A
 * stream ends without an error when its signal aborts. A method that the package does not have is a TypeError.
 *
 * Caveats: a write that failed as Unavailable, DeadlineExceeded or Cancelled may have been executed. Connected streams
 * have no deadline. Streams are not resumed; {@link ResourceClient.follow} is. `duplex` does not renew the token.
 *
 * @example
 * import { ApiClient } from 'kedge/client';
 *
 * using client = new ApiClient({ ...api, server: '127.0.0.1:7000', token: process.env.TOKEN });
 * const lamp = await client.resource(lamps).get({ name: 'hall' });
 * const answer = await client.call('LampService.Get', { name: 'hall' }, { timeoutMs: 1_000 });
 * console.log(lamp?.on, answer.on);
 */
export class ApiClient {
  readonly #options: ApiClientOptions;
  readonly #grpc: GrpcClient;
  #isClosed = false;
  readonly #methods: ReadonlyMap<string, { readonly path: string; readonly desc: DescMethod }>;

  /** @throws TypeError that names an invalid option */
  constructor(options: ApiClientOptions) {
    requireOptions('ApiClient', options, clientRules);
    this.#options = options;
    const { keepaliveMs = defaultKeepaliveMs } = options;
    const channel: ClientOptions = {
      'grpc-node.flow_control_window': windowBytes,
      'grpc.max_receive_message_length': -1,
      // Channelz counts calls, but nothing here serves its data.
      'grpc.enable_channelz': 0,
      // A restarting server is back within a second: do not back off for minutes.
      'grpc.initial_reconnect_backoff_ms': 200,
      'grpc.max_reconnect_backoff_ms': 5_000,
      // Detects a peer that disappeared without closing the connection.
      'grpc.keepalive_time_ms': keepaliveMs,
      'grpc.keepalive_timeout_ms': keepaliveMs,
    };
    this.#grpc = new GrpcClient(options.server, channelCredentials(options.tls), channel);
    this.#methods = new Map(
      options.schemas.services(options.packageName).flatMap((service) =>
        service.methods.map((desc) => {
          const path = `/${service.typeName}/${desc.name}`;
          return [`${service.name}.${desc.name}`, { path, desc }] as const;
        }),
      ),
    );
  }

  /**
   * Makes a unary call, with retries if they are safe and configured. Absent lists, maps and scalars of the answer have
   * their zero value.
   * @throws StatusError as the server sent it, or Unavailable, DeadlineExceeded or Cancelled
   */
  async call(id: string, request: JsonObject, options: CallOptions = {}): Promise<JsonObject> {
    const { desc } = this.#method(id);
    const bytes = await this.callBytes(id, request, options);
    return present(desc.output, this.#options.schemas.decode(desc.output, bytes));
  }

  /** Like {@link call}, with the raw answer, for typed codecs. */
  callBytes(id: string, request: JsonObject, options: CallOptions = {}): Promise<Buffer> {
    const { attempts = 1, signal, onLostAnswer } = { ...this.#options.retry, ...options };
    const attempt = (): Promise<Buffer> => this.#renewed(id, request, options);
    const route = httpRoute(this.#options.schemas.registry, this.#method(id).desc);
    const idempotent = isIdempotent(route, request);
    return retried(attempt, { attempts, idempotent, signal, onLostAnswer });
  }

  async #renewed(id: string, request: JsonObject, options: CallOptions): Promise<Buffer> {
    try {
      return await this.#call(id, request, await this.#metadata(false), options);
    } catch (error) {
      if (!this.#canRenew(error)) throw error;
      return this.#call(id, request, await this.#metadata(true), options);
    }
  }

  #call(
    id: string,
    request: JsonObject,
    metadata: Metadata,
    { timeoutMs, signal }: CallOptions,
  ): Promise<Buffer> {
    const { path, desc } = this.#method(id);
    const bytes = this.#encode(desc, request);
    const budgetMs = timeoutMs ?? this.#options.timeoutMs ?? defaultTimeoutMs;
    const deadline = systemClock.now() + budgetMs;
    return new Promise((resolve, reject) => {
      const call = this.#grpc.makeUnaryRequest(
        path,
        identity,
        identity,
        bytes,
        metadata,
        { deadline },
        (error, answer) => {
          signal?.removeEventListener('abort', cancel);
          if (error) reject(callError(error));
          else resolve(answer ?? Buffer.alloc(0));
        },
      );
      const cancel = (): void => call.cancel();
      if (signal?.aborted) cancel();
      else signal?.addEventListener('abort', cancel, { once: true });
    });
  }

  /**
   * Yields the answers of a server stream; ends without an error when `signal` aborts.
   * @throws StatusError as the server sent it
   */
  async *stream(id: string, request: JsonObject, signal: AbortSignal): AsyncIterable<JsonObject> {
    const { desc } = this.#method(id);
    for await (const bytes of this.streamBytes(id, request, signal))
      yield present(desc.output, this.#options.schemas.decode(desc.output, bytes));
  }

  /** Like {@link stream}, with the raw answers, for typed codecs. */
  async *streamBytes(id: string, request: JsonObject, signal: AbortSignal): AsyncIterable<Buffer> {
    let answered = false;
    try {
      for await (const answer of this.#stream(id, request, await this.#metadata(false), signal)) {
        answered = true;
        yield answer;
      }
    } catch (error) {
      // After the first answer only the caller can decide to restart.
      if (answered || !this.#canRenew(error)) throw error;
      yield* this.#stream(id, request, await this.#metadata(true), signal);
    }
  }

  async *#stream(
    id: string,
    request: JsonObject,
    metadata: Metadata,
    signal: AbortSignal,
  ): AsyncIterable<Buffer> {
    if (signal.aborted) return;
    const { path, desc } = this.#method(id);
    const bytes = this.#encode(desc, request);
    const call = this.#grpc.makeServerStreamRequest(path, identity, identity, bytes, metadata);
    yield* this.#answers(call, signal);
  }

  #answers(call: AnsweringCall, signal: AbortSignal): AsyncIterable<Buffer> {
    const limitMs = this.#options.timeoutMs ?? defaultTimeoutMs;
    return answersOf(call, {
      signal,
      limitMs,
      connected: (until) => this.connected(limitMs, until),
    });
  }

  /**
   * Runs a bidirectional stream and yields its answers, which have only the fields that were sent. Ends without an
   * error when `signal` aborts.
   * @throws StatusError as the server sent it, or for an error of `requests`, which ends the stream
   */
  async *duplex(
    id: string,
    requests: AsyncIterable<JsonObject>,
    signal: AbortSignal,
  ): AsyncIterable<JsonObject> {
    if (signal.aborted) return;
    const { path, desc } = this.#method(id);
    const metadata = await this.#metadata(false);
    const call = this.#grpc.makeBidiStreamRequest(path, identity, identity, metadata);
    void this.#send(call, desc, requests);
    for await (const bytes of this.#answers(call, signal))
      yield this.#options.schemas.decode(desc.output, bytes);
  }

  async #send(
    call: ClientDuplexStream<Buffer, Buffer>,
    desc: DescMethod,
    requests: AsyncIterable<JsonObject>,
  ): Promise<void> {
    let ended = false;
    let wake: () => void = () => undefined;
    // A call that has ended emits no `drain`: without this, the loop would wait forever.
    call.once('status', () => {
      ended = true;
      wake();
    });
    try {
      for await (const request of requests) {
        if (ended) return;
        if (call.write(this.#encode(desc, request))) continue;
        await new Promise<void>((resolve) => {
          wake = resolve;
          call.once('drain', resolve);
        });
      }
      call.end();
    } catch (error) {
      call.destroy(error as Error);
    }
  }

  /** The standard methods of a kind, typed. @throws TypeError for an unknown kind. */
  resource<T extends ApiObject, S extends string, N extends Scope, C>(
    kind: Kind<T, S, string, N, C>,
    defaults: Partial<ResourceOptions> = {},
  ): ResourceClient<T, S, N, C> {
    const { schemas, packageName } = this.#options;
    return new ResourceClient(this, kind, methodTable(schemas, packageName, [kind]), defaults);
  }

  /**
   * Resolves to true as soon as the client is connected, to false after `timeoutMs`, when the signal aborts or when the
   * client is closed.
   */
  connected(timeoutMs: number, signal: AbortSignal): Promise<boolean> {
    return waitForConnection(this.#grpc.getChannel(), {
      limitMs: timeoutMs,
      signal,
      isClosed: () => this.#isClosed,
    });
  }

  close(): void {
    this.#isClosed = true;
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

  #canRenew(error: unknown): boolean {
    return typeof this.#options.token === 'function' && hasCode(error, 'Unauthenticated');
  }

  async #metadata(renew: boolean): Promise<Metadata> {
    const { token } = this.#options;
    const text = typeof token === 'function' ? await token(renew) : token;
    const metadata = new Metadata();
    if (text !== undefined) metadata.set('authorization', `Bearer ${text}`);
    return metadata;
  }
}
