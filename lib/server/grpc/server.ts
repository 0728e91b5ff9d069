import {
  createServer as createSocketServer,
  type Server as SocketServer,
  type Socket,
} from 'node:net';
import { createServer as createTlsServer } from 'node:tls';
import {
  type Metadata,
  Server,
  ServerCredentials,
  type ServerInterceptingCallInterface,
  type ServerDuplexStream,
  type ServerUnaryCall,
  type ServerWritableStream,
  type UntypedServiceImplementation,
} from '@grpc/grpc-js';
import { limits, systemClock } from '../../base/index.js';
import type { JsonObject, MethodInfo } from '../../rpc/index.js';
import { answerUnknown, servicesOf } from './routes.js';
import { readRequest } from './request.js';
import { spreadStreams } from './spread-streams.js';
import { type GrpcStream, sendStream } from './stream.js';
import { type StatusOf, statusWith } from './errors.js';
import { AnswerEncoder } from './answers.js';
import type { CallContext, Peer } from '../api/call.js';
import { Connections } from '../transport/connections.js';
import { encodeList, longItems } from '../transport/list-encoding.js';
import { indirection } from '../transport/indirect-call.js';
import { CallPace } from './call-pace.js';
import { GrpcGate } from './gate.js';
import { Listener } from '../transport/listener.js';
import { peerOf } from '../transport/peer.js';
import { RequestCaller } from '../transport/request-caller.js';
import type { TransportOptions } from '../transport/transport-options.js';

/** Keepalive interval of a connection; a dead peer is detected after twice that. */
const keepaliveMs = 30_000;
/** Maximum number of cached peers. */
const peersMax = 4_096;
/**
 * Maximum concurrent calls per connection. One read may bring all of them, and Node.js creates their streams in one
 * turn of the event loop, which takes 25 to 40 ms for 512 after a start. The default of Go's servers is 250.
 */
const concurrentCallsMax = 256;

/** Serves the dispatcher over gRPC. Messages are decoded in the handler, so that malformed ones are InvalidArgument. */
export class GrpcServer {
  readonly #options: TransportOptions;
  readonly #gate: GrpcGate;
  readonly #server: Server;
  readonly #connections: Connections;
  readonly #listener: Listener;
  readonly #closing = new AbortController();
  readonly #encoder: AnswerEncoder;
  readonly #sending: Pick<GrpcStream, 'encoder' | 'waiting'>;
  readonly #statusOf: StatusOf;
  #host = '';
  /** Peers by address with port: the calls of a connection share one. */
  readonly #peers = new Map<string, Peer>();

  constructor(options: TransportOptions) {
    this.#options = options;
    this.#encoder = new AnswerEncoder(options.schemas);
    this.#sending = { encoder: this.#encoder, waiting: options.waiting };
    this.#statusOf = statusWith(options.logger);
    this.#gate = new GrpcGate({
      clock: options.clock,
      dispatcher: options.dispatcher,
      callerOf: (call, metadata) => this.#callerOf(call, metadata),
      statusOf: this.#statusOf,
    });
    this.#server = new Server({
      interceptors: [this.#gate.interceptor],
      'grpc.max_receive_message_length': limits.requestBytesMax,
      'grpc.max_concurrent_streams': concurrentCallsMax,
      'grpc.keepalive_time_ms': keepaliveMs,
      'grpc.keepalive_timeout_ms': keepaliveMs,
      'grpc.max_connection_idle_ms': options.bounds.idleMs,
      // The global registry of channelz would keep a reference to each server that never listened, and nothing serves
      // its data.
      'grpc.enable_channelz': 0,
    });
    if (!spreadStreams(this.#server, new CallPace(options.clock)))
      options.logger.warn('gRPC calls that arrive together start in one turn of the event loop');
    const sockets = this.#socketServer();
    this.#connections = new Connections(sockets, 'grpc', options);
    this.#listener = new Listener(sockets, this.#connections);
    const { methods } = options.dispatcher;
    for (const [definition, implementation] of servicesOf(methods, (m) => this.#handlerOf(m)))
      this.#server.addService(definition, implementation);
    if (!answerUnknown(this.#server, this.#statusOf))
      options.logger.warn('callers without a token can learn which gRPC methods exist');
  }

  /** Starts listening; resolves to the port. */
  listen(host: string, port: number): Promise<number> {
    this.#host = host;
    return this.#listener.listen(host, port);
  }

  /** Ends streams, and cuts calls that are not finished after `graceMs`. */
  async close(graceMs: number): Promise<void> {
    this.#closing.abort();
    // A destroyed session still waits until its peer has read all data: the listener closes the connections.
    const cut = systemClock.setTimer(() => this.#server.forceShutdown(), graceMs);
    const closed = this.#listener.close(graceMs);
    this.#connections.drain();
    await new Promise<void>((resolve) => this.#server.tryShutdown(() => resolve()));
    this.#connections.close();
    await closed;
    cut.cancel();
  }

  /** The listener in place of the gRPC server, which can limit neither its connections nor the TLS handshake time. */
  #socketServer(): SocketServer {
    const { tls, bounds } = this.#options;
    const injector = this.#server.createConnectionInjector(ServerCredentials.createInsecure());
    const inject = (socket: Socket): void => {
      // Until the connection ends: a session itself waits for its calls.
      this.#connections.use(socket);
      injector.injectConnection(socket);
    };
    if (!tls) return createSocketServer({ noDelay: true }, inject);
    const handshake = { ALPNProtocols: ['h2'], handshakeTimeout: bounds.silentMs };
    const server = createTlsServer({ ...tls.serverOptions, ...handshake, noDelay: true }, inject);
    tls.follow(server);
    // A failed or slow handshake: Node.js leaves its connection open.
    server.on('tlsClientError', (_error, socket) => void socket.destroy());
    return server;
  }

  #handlerOf(method: MethodInfo): UntypedServiceImplementation[string] {
    if (method.clientStreaming)
      return (call: ServerDuplexStream<Buffer, Buffer>) => void this.#bidi(method, call);
    if (method.streaming)
      return (call: ServerWritableStream<Buffer, Buffer>) => void this.#stream(method, call);
    return (
      call: ServerUnaryCall<Buffer, Buffer>,
      callback: (error: object | null, bytes?: Buffer) => void,
    ) => void this.#unary(method, call, callback);
  }

  #callerOf(call: ServerInterceptingCallInterface, metadata: Metadata): RequestCaller {
    const { random } = this.#options;
    const peer = this.#peerOf(call.getPeer());
    return new RequestCaller(peer, random.uuid(), 'grpc', this.#closing.signal, () => {
      const headers = metadata.getMap();
      const origin = metadata.get('origin')[0];
      const names = Object.keys(headers);
      return indirection(
        { host: call.getHost(), origin: origin && String(origin), names },
        this.#host,
      );
    });
  }

  #peerOf(address: string): Peer {
    const known = this.#peers.get(address);
    if (known) return known;
    if (this.#peers.size >= peersMax) this.#peers.clear();
    const peer = peerOf(address);
    this.#peers.set(address, peer);
    return peer;
  }

  async #unary(
    method: MethodInfo,
    call: ServerUnaryCall<Buffer, Buffer>,
    callback: (error: object | null, bytes?: Buffer) => void,
  ): Promise<void> {
    const { caller, identity: who } = this.#gate.of(call.metadata);
    try {
      const context = caller.as(who);
      const request = await this.#decode(method, context, call.request);
      const answer = await this.#options.dispatcher.unary(method, context, request);
      const items = longItems(method, answer);
      const { schemas, clock } = this.#options;
      callback(
        null,
        items
          ? await encodeList(schemas, method.output, answer, items, clock)
          : this.#encoder.encode(method, answer, request.reveal !== true),
      );
    } catch (thrown) {
      callback(this.#statusOf(method, thrown));
    } finally {
      caller.end();
    }
  }

  async #stream(method: MethodInfo, call: ServerWritableStream<Buffer, Buffer>): Promise<void> {
    const { caller, identity: who, cut } = this.#gate.of(call.metadata);
    try {
      const context = caller.as(who);
      const request = await this.#decode(method, context, call.request);
      const answers = this.#options.dispatcher.stream(method, context, request);
      await sendStream({ method, call, answers, cut, ...this.#sending, signal: caller.signal });
    } catch (thrown) {
      call.emit('error', this.#statusOf(method, thrown));
    } finally {
      caller.end();
    }
  }

  async #bidi(method: MethodInfo, call: ServerDuplexStream<Buffer, Buffer>): Promise<void> {
    const { caller, identity: who, cut } = this.#gate.of(call.metadata);
    // A disconnect of the peer ends the reading side with an error that the signal reports already.
    call.on('error', () => undefined);
    try {
      const context = caller.as(who);
      const answers = this.#options.dispatcher.bidi(method, context, this.#requests(method, call));
      await sendStream({ method, call, answers, cut, ...this.#sending, signal: caller.signal });
    } catch (thrown) {
      call.emit('error', this.#statusOf(method, thrown));
    } finally {
      caller.end();
    }
  }

  async *#requests(
    method: MethodInfo,
    call: ServerDuplexStream<Buffer, Buffer>,
  ): AsyncIterable<JsonObject> {
    const { schemas, clock } = this.#options;
    // The end of this loop must not destroy the stream, which still carries answers.
    for await (const bytes of call.iterator({ destroyOnReturn: false }))
      yield await readRequest(schemas, method, bytes as Buffer, clock);
  }

  async #decode(method: MethodInfo, context: CallContext, bytes: Buffer): Promise<JsonObject> {
    const { schemas, clock } = this.#options;
    try {
      return await readRequest(schemas, method, bytes, clock);
    } catch (error) {
      this.#options.dispatcher.unreadable(method, context, error);
      throw error;
    }
  }
}
