import type { IncomingMessage } from 'node:http';
import Fastify, { type FastifyInstance, type FastifyReply, type FastifyRequest } from 'fastify';
import { limits, linkSignals, StatusError } from '../base/index.js';
import type { JsonObject } from '../rpc/index.js';
import type { Identity } from './auth/index.js';
import type { CallContext } from './call.js';
import { errorBody, publicError } from './error-body.js';
import type { TransportOptions } from './grpc-server.js';
import { portOf } from './grpc-server.js';
import { httpStatuses } from './http-status.js';
import type { MethodInfo } from '../rpc/index.js';
import { peerOf } from './peer.js';
import { parseBody, requestFromHttp } from './rest-request.js';
import { sendEvents, type ServerSentEvent, StreamWriter, watchEvents } from './sse.js';

/** A request must have arrived whole within this time. */
const requestTimeoutMs = 30_000;
/** Of a body that is too large so much is taken before the connection is cut. */
const discardBytesMax = 8 * limits.requestBytesMax;

const callers = new WeakMap<FastifyRequest, Identity>();

/** google.api.http's path in fastify's syntax; a name before a custom verb stops at the colon. */
export function fastifyPath(path: string): string {
  return path
    .replace(/\{(\w+)\}:(\w+)$/, ':$1(^[^/:]+)::$2')
    .replace(/\/(\w+):(\w+)$/, '/$1::$2')
    .replaceAll(/\{(\w+)\}/g, ':$1');
}

/** The dispatcher over REST: every route comes from the methods' http annotations. */
export class RestServer {
  readonly #options: TransportOptions;
  readonly #app: FastifyInstance;
  readonly #closing = new AbortController();

  constructor(options: TransportOptions) {
    this.#options = options;
    this.#app = Fastify({
      logger: false,
      bodyLimit: limits.requestBytesMax,
      requestTimeout: requestTimeoutMs,
      forceCloseConnections: true,
      genReqId: () => options.random.uuid(),
      routerOptions: { ignoreTrailingSlash: true },
      return503OnClosing: false,
    });
    this.#app.removeAllContentTypeParsers();
    this.#app.addContentTypeParser(
      'application/json',
      { parseAs: 'string' },
      (_request, body, done) => {
        try {
          done(null, body === '' ? undefined : parseBody(String(body)));
        } catch (error) {
          done(error as Error);
        }
      },
    );
    this.#app.setErrorHandler(async (error, request, reply) => {
      // Answered before it was sent whole, a client that is still sending sees a broken connection.
      if ((error as { statusCode?: number }).statusCode === 413) await discardBody(request.raw);
      return this.#fail(request, reply, error);
    });
    this.#app.setNotFoundHandler((request, reply) => this.#notFound(request, reply));
    for (const method of options.dispatcher.methods) this.#addRoute(method);
  }

  /** Starts listening; resolves to the port. */
  async listen(host: string, port: number): Promise<number> {
    await this.#app.listen({ host, port });
    return portOf(this.#app.server.address());
  }

  async close(): Promise<void> {
    this.#closing.abort();
    await this.#app.close();
  }

  #addRoute(method: MethodInfo): void {
    const { route } = method;
    if (!route) return;
    this.#app.route({
      method: route.method,
      url: fastifyPath(route.path),
      // Before the body is read: who may not call sends no bytes for us to parse.
      onRequest: async (request) => {
        const header = request.headers.authorization;
        callers.set(request, await this.#options.dispatcher.authenticate(method, header));
      },
      handler: (request, reply) => this.#handle(method, request, reply),
    });
  }

  async #handle(
    method: MethodInfo,
    request: FastifyRequest,
    reply: FastifyReply,
  ): Promise<unknown> {
    const query = request.query as Record<string, string>;
    const watch = this.#watchOf(method, query);
    if (watch) {
      const { watch: _, ...rest } = query;
      return this.#stream(watch, request, reply, rest);
    }
    if (method.streaming) return this.#stream(method, request, reply, query);
    const message = this.#message(method, request, query);
    const context = this.#context(request, reply);
    const answer = await this.#options.dispatcher.unary(method, context, message);
    return reply.header('x-request-id', request.id).send(answer);
  }

  /** `?watch=true` on a list path is the Watch method of the same kind. */
  #watchOf(method: MethodInfo, query: Readonly<Record<string, string>>): MethodInfo | undefined {
    if (method.standard?.verb !== 'List' || query.watch !== 'true') return undefined;
    const { kind } = method.standard;
    return this.#options.dispatcher.methods.find(
      (m) => m.standard?.verb === 'Watch' && m.standard.kind === kind,
    );
  }

  #message(
    method: MethodInfo,
    request: FastifyRequest,
    query: Readonly<Record<string, string>>,
  ): JsonObject {
    const params = request.params as Record<string, string>;
    return requestFromHttp(method, { params, query, body: request.body });
  }

  #context(request: FastifyRequest, reply: FastifyReply): CallContext {
    const gone = new AbortController();
    const link = linkSignals(gone.signal, this.#closing.signal);
    reply.raw.on('close', () => {
      gone.abort();
      link[Symbol.dispose]();
    });
    const identity = callers.get(request);
    if (!identity) throw new TypeError('a request reached its handler without authentication');
    return {
      identity,
      peer: peerOf(request.ip),
      requestId: request.id,
      signal: link.signal,
    };
  }

  async #stream(
    method: MethodInfo,
    request: FastifyRequest,
    reply: FastifyReply,
    query: Readonly<Record<string, string>>,
  ): Promise<void> {
    const message = { ...this.#message(method, request, query) } as Record<string, unknown>;
    const watching = method.standard?.verb === 'Watch';
    const resumeAt = request.headers['last-event-id'];
    if (watching && typeof resumeAt === 'string' && resumeAt !== '')
      message.resourceVersion = resumeAt;
    const context = this.#context(request, reply);
    const answers = await begun(this.#options.dispatcher.stream(method, context, message));
    const headers = { 'x-request-id': request.id };
    reply.hijack();
    if (watching || query.follow === 'true') {
      const events = watching ? watchEvents(answers) : plainEvents(answers);
      const guarded = this.#guarded(method, events, request.id);
      await sendEvents(reply.raw, headers, guarded, context.signal);
      return;
    }
    reply.raw.writeHead(200, { ...headers, 'content-type': 'application/x-ndjson' });
    const writer = new StreamWriter(reply.raw, context.signal);
    try {
      for await (const answer of answers) await writer.write(`${JSON.stringify(answer)}\n`);
      reply.raw.end();
    } catch (error) {
      // Headers are out: cutting the connection is the only way left to say that this is not all.
      this.#options.logger.error('stream failed', { method: method.id, error });
      reply.raw.destroy();
    }
  }

  /** Events, and the failure that ends them as a last one. */
  async *#guarded(
    method: MethodInfo,
    events: AsyncIterable<ServerSentEvent>,
    requestId: string,
  ): AsyncIterable<ServerSentEvent> {
    try {
      yield* events;
    } catch (thrown) {
      const error = publicError(thrown);
      if (error.code === 'Internal')
        this.#options.logger.error('stream failed', {
          method: method.id,
          requestId,
          error: thrown,
        });
      yield { event: 'ERROR', data: errorBody(error, requestId) };
    }
  }

  #fail(request: FastifyRequest, reply: FastifyReply, thrown: unknown): FastifyReply {
    const error = publicError(transportError(thrown));
    if (error.code === 'Internal')
      this.#options.logger.error('request failed', {
        path: request.routeOptions.url,
        requestId: request.id,
        error: thrown,
      });
    if (error.retryAfterMs !== undefined)
      void reply.header('retry-after', String(Math.ceil(error.retryAfterMs / 1_000)));
    if (error.code === 'Unauthenticated') void reply.header('www-authenticate', 'Bearer');
    return reply
      .code(httpStatuses[error.code])
      .header('x-request-id', request.id)
      .send(errorBody(error, request.id));
  }

  /** Also what does not exist is told only to who has a token. */
  async #notFound(request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> {
    const known = this.#options.dispatcher.methods.find((m) => m.standard);
    if (known) await this.#options.dispatcher.authenticate(known, request.headers.authorization);
    const path = request.url.split('?')[0] ?? '';
    const allowed = (['GET', 'POST', 'PUT', 'DELETE'] as const).filter((method) =>
      this.#app.findRoute({ method, url: path }),
    );
    const error = new StatusError({
      code: 'NotFound',
      reason: 'RouteNotFound',
      message: `${request.method} ${path} is not a path of this API`,
    });
    const status = allowed.length > 0 ? 405 : 404;
    return reply.code(status).send(errorBody(error, request.id));
  }
}

async function* plainEvents(answers: AsyncIterable<JsonObject>): AsyncIterable<ServerSentEvent> {
  for await (const data of answers) yield { data };
}

/**
 * The stream with its first answer already asked for: refusals (no right, compacted) reject here,
 * before headers are sent. A stream that has nothing to say yet is given back after a few turns.
 */
async function begun(answers: AsyncIterable<JsonObject>): Promise<AsyncIterable<JsonObject>> {
  const iterator = answers[Symbol.asyncIterator]();
  const first = iterator.next();
  const patience = (async () => {
    for (let turn = 0; turn < 4; turn += 1)
      await new Promise<void>((resolve) => {
        setImmediate(resolve);
      });
  })();
  await Promise.race([first, patience]);
  return (async function* () {
    for (let result = await first; !result.done; result = await iterator.next()) yield result.value;
  })();
}

/** Reads on what a client sends and throws it away: at most so much; the server's request timeout bounds the time. */
async function discardBody(incoming: IncomingMessage): Promise<void> {
  let bytes = 0;
  try {
    for await (const chunk of incoming) {
      bytes += (chunk as Buffer).length;
      if (bytes > discardBytesMax) return;
    }
  } catch {
    // It went away: nobody is left to read the answer.
  }
}

/** Fastify's own refusals in our terms. */
function transportError(thrown: unknown): unknown {
  if (thrown instanceof StatusError) return thrown;
  const { statusCode, message } = thrown as { statusCode?: number; message?: string };
  const known: Readonly<Record<number, string>> = {
    400: 'MalformedRequest',
    413: 'BodyTooLarge',
    415: 'UnsupportedMediaType',
    414: 'UrlTooLong',
  };
  const reason = statusCode === undefined ? undefined : known[statusCode];
  if (reason === undefined) return thrown;
  const tooLarge = `is larger than ${limits.requestBytesMax} bytes; send less at a time`;
  return new StatusError({
    code: 'InvalidArgument',
    reason,
    message: statusCode === 413 ? `the body ${tooLarge}` : (message ?? reason),
    cause: thrown,
    ...(statusCode === 413 ? { violations: [{ field: 'body', description: tooLarge }] } : {}),
  });
}
