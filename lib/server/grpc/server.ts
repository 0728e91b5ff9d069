import {
  createServer as createSocketServer,
  type Server as SocketServer,
  type Socket,
} from 'node:net';
import { createServer as createTlsServer } from 'node:tls';
import { statusCodes, type StatusError, systemClock } from '../../base/index.js';
import { isPromise, type Later, recovered } from '../../base/promises/later.js';
import type { JsonObject, MethodInfo } from '../../rpc/index.js';
import { GrpcCall } from './call.js';
import { MessageQueue } from './message-queue.js';
import { readRequest } from './request.js';
import { type GrpcStream, sendStream } from './stream.js';
import { type StatusOf, statusWith } from './errors.js';
import { AnswerEncoder } from './answers.js';
import type { CallContext, Peer } from '../api/call.js';
import { Http2Connection } from '../http2/connection.js';
import { Connections } from '../transport/connections.js';
import { encodeList, longItems } from '../transport/list-encoding.js';
import { indirection } from '../transport/indirect-call.js';
import { CallPace } from './call-pace.js';
import { type AuthenticatedCall, GrpcGate } from './gate.js';
import { Listener } from '../transport/listener.js';
import { peerOfSocket } from '../transport/peer.js';
import { UnreadAnswers } from './unread-answers.js';
import { RequestCaller } from '../transport/request-caller.js';
import type { TransportOptions } from '../transport/transport-options.js';

/** Keepalive interval of a connection; a dead peer is detected after about twice that. */
const keepaliveMs = 30_000;
/** Maximum concurrent calls per connection; one read may bring all of them. */
const concurrentCallsMax = 256;

/** Deadlines, pings and idle connections concern other processes, so their clock is the real one. */
const networkClock = systemClock;

/** Serves the dispatcher over gRPC. Messages are decoded in the handler, so that malformed ones are InvalidArgument. */
export class GrpcServer {
  readonly #options: TransportOptions;
  readonly #gate: GrpcGate;
  readonly #pace: CallPace<Http2Connection>;
  readonly #connections: Connections;
  readonly #open = new Set<Http2Connection>();
  readonly #listener: Listener;
  readonly #closing = new AbortController();
  readonly #encoder: AnswerEncoder;
  readonly #sending: Pick<GrpcStream, 'encoder' | 'waiting'>;
  readonly #statusOf: StatusOf;
  readonly #unread: UnreadAnswers;
  #host = '';

  constructor(options: TransportOptions) {
    const { clock, dispatcher } = options;
    this.#options = options;
    this.#encoder = new AnswerEncoder(options.schemas);
    this.#sending = { encoder: this.#encoder, waiting: options.waiting };
    this.#statusOf = statusWith(options.logger);
    this.#gate = new GrpcGate({ clock, dispatcher, statusOf: this.#statusOf });
    this.#pace = new CallPace(clock);
    this.#unread = new UnreadAnswers(clock);
    const sockets = this.#socketServer();
    this.#connections = new Connections(sockets, 'grpc', options);
    this.#listener = new Listener(sockets, this.#connections);
  }

  /** Starts listening; resolves to the port. */
  listen(host: string, port: number): Promise<number> {
    this.#host = host;
    return this.#listener.listen(host, port);
  }

  /** Ends streams, and cuts calls that are not finished after `graceMs`. */
  async close(graceMs: number): Promise<void> {
    this.#closing.abort();
    const closed = this.#listener.close(graceMs);
    this.#connections.drain();
    for (const connection of this.#open) connection.drain();
    await closed;
  }

  #socketServer(): SocketServer {
    const { tls, bounds } = this.#options;
    const serve = (socket: Socket): void => this.#serve(socket);
    if (!tls) return createSocketServer({ noDelay: true }, serve);
    const handshake = { ALPNProtocols: ['h2'], handshakeTimeout: bounds.silentMs };
    const server = createTlsServer({ ...tls.serverOptions, ...handshake, noDelay: true }, serve);
    tls.follow(server);
    // After the timeout of a handshake Node.js leaves its connection open.
    server.on('tlsClientError', (_error, socket) => void socket.destroy());
    return server;
  }

  #serve(socket: Socket): void {
    const { idleMs } = this.#options.bounds;
    const peer = peerOfSocket(socket);
    // Until the connection ends, which waits for its calls.
    this.#connections.use(socket);
    const connection: Http2Connection = new Http2Connection(socket, {
      clock: networkClock,
      streamsMax: concurrentCallsMax,
      keepaliveMs,
      idleMs,
      accept: (stream, request) => {
        const call = new GrpcCall(stream, request);
        this.#pace.begin(connection, () => this.#begin(call, peer));
      },
      closed: () => void this.#open.delete(connection),
      broken: (error) => this.#options.logger.error('a connection failed', { error }),
    });
    this.#open.add(connection);
    if (this.#closing.signal.aborted) connection.drain();
  }

  #begin(call: GrpcCall, peer: Peer): void {
    // The client may have reset it before its turn.
    if (call.isOver || !call.begin(networkClock)) return;
    const caller = this.#callerOf(call, peer);
    call.whenOver(() => caller.end());
    this.#gate.enter(call, caller, (authenticated) => this.#handle(authenticated));
  }

  #handle(authenticated: AuthenticatedCall): void {
    const { call, method, arrived } = authenticated;
    if (method.clientStreaming) return void this.#bidi(authenticated);
    let request: Buffer | undefined;
    const refuse = (what: string): void =>
      call.finish({
        code: statusCodes.Unimplemented,
        message: `Received ${what} for method ${method.grpcPath}, which takes one`,
      });
    call.open({
      message: (bytes) => {
        if (request) refuse('a second request message');
        request = bytes;
      },
      end: () => {
        arrived();
        if (!request) refuse('no request message');
        else if (method.streaming) void this.#stream(authenticated, request);
        else void this.#unary(authenticated, request);
      },
    });
  }

  #callerOf(call: GrpcCall, peer: Peer): RequestCaller {
    const { random } = this.#options;
    return new RequestCaller(peer, random.uuid(), 'grpc', this.#closing.signal, () => {
      const names = call.headers.map(([name]) => name);
      const { authority: host } = call;
      return indirection({ host, origin: call.header('origin'), names }, this.#host);
    });
  }

  async #unary(given: AuthenticatedCall, bytes: Buffer): Promise<void> {
    const { call, method, caller, identify } = given;
    try {
      const identified = identify();
      const context = caller.as(isPromise(identified) ? await identified : identified);
      const decoded = this.#decode(method, context, bytes);
      const request = isPromise(decoded) ? await decoded : decoded;
      const answer = await this.#options.dispatcher.unary(method, context, request);
      const items = longItems(method, answer);
      const { schemas, clock } = this.#options;
      this.#answer(
        call,
        items
          ? await encodeList(schemas, method.output, answer, items, clock)
          : this.#encoder.encode(method, answer, request.reveal !== true),
      );
    } catch (thrown) {
      call.finish(this.#statusOf(method, thrown));
    } finally {
      caller.end();
    }
  }

  #answer(call: GrpcCall, bytes: Buffer): void {
    // A status can't follow a part of a message: the call is reset.
    const read = this.#unread.begin(bytes.length, () => call.drop());
    if (read) call.whenOver(read);
    call.write(bytes, read);
    call.end();
  }

  async #stream(given: AuthenticatedCall, bytes: Buffer): Promise<void> {
    const { method, caller, identify } = given;
    await this.#answers(given, async () => {
      const context = caller.as(await identify());
      const request = await this.#decode(method, context, bytes);
      return this.#options.dispatcher.stream(method, context, request);
    });
  }

  async #bidi(given: AuthenticatedCall): Promise<void> {
    const { call, method, caller, identity: who, arrived } = given;
    const queue = new MessageQueue((isEmpty) => (call.flowing = isEmpty));
    call.whenOver(() => queue.abandon());
    call.open({
      message: (bytes) => {
        // Each message of a client stream is complete by itself, and the handler waits for the next one.
        arrived();
        queue.push(bytes);
      },
      end: () => {
        arrived();
        queue.end();
      },
    });
    await this.#answers(given, () =>
      Promise.resolve(
        this.#options.dispatcher.bidi(method, caller.as(who), this.#requests(method, queue)),
      ),
    );
  }

  async #answers(
    { call, method, caller }: AuthenticatedCall,
    source: () => Promise<AsyncIterable<JsonObject>>,
  ): Promise<void> {
    const cut = (why: StatusError): void => call.cut(this.#statusOf(method, why));
    try {
      const answers = await source();
      await sendStream({ method, call, answers, cut, ...this.#sending, signal: caller.signal });
    } catch (thrown) {
      call.finish(this.#statusOf(method, thrown));
    } finally {
      caller.end();
    }
  }

  async *#requests(method: MethodInfo, queue: MessageQueue): AsyncIterable<JsonObject> {
    const { schemas, clock } = this.#options;
    for await (const bytes of queue.taken()) yield await readRequest(schemas, method, bytes, clock);
  }

  #decode(method: MethodInfo, context: CallContext, bytes: Buffer): Later<JsonObject> {
    const { schemas, clock } = this.#options;
    return recovered(
      () => readRequest(schemas, method, bytes, clock),
      (error) => {
        this.#options.dispatcher.unreadable(method, context, error);
        throw error;
      },
    );
  }
}
