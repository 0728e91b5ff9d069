import Fastify, { type FastifyInstance, type FastifyReply, type FastifyRequest } from 'fastify';
import { limits, StatusError } from '../../base/index.js';
import type { JsonObject, MethodInfo } from '../../rpc/index.js';
import { Connections } from '../transport/connections.js';
import { publicError } from '../schema/error-body.js';
import type { TransportOptions } from '../transport/transport-options.js';
import { type Comments, openApiDocument, openApiPath } from '../schema/openapi.js';
import { Listener } from '../transport/listener.js';
import { httpServer } from './http-server.js';
import { RestAnswers } from './answers.js';
import { RestCallers } from './callers.js';
import { readJsonBodies } from './json-bodies.js';
import { discardBody, sendError, transportError } from './errors.js';
import { CrossOrigin, entityTag, isKnown, withPrecondition } from './headers.js';
import { requestFromHttp } from './request.js';
import { sendStream } from './stream.js';
import { answerUnreadable } from './unreadable.js';
import { fastifyPath, RouteMatcher } from './routes.js';

/** Maximum length of a name in a path, in characters. */
const parameterCharactersMax = 1_024;

/** Dependencies of the REST gateway. */
export interface RestOptions extends TransportOptions {
  /** Allowed CORS origins; none by default. */
  readonly corsOrigins: readonly string[];
  /** Comments for the OpenAPI document; requested when the document is first read. */
  readonly comments: (() => Promise<Comments>) | undefined;
}

/** Routes have no fastify schemas. Without these factories fastify would load its schema compilers at each start. */
const compilersFactory = { buildValidator: noSchemas, buildSerializer: noSchemas };

function noSchemas(): never {
  throw new TypeError('routes have no schemas: the API validates requests itself');
}

/** The methods of requests whose body is still being read; the dispatcher has not received these requests. */
const unread = new WeakMap<FastifyRequest, MethodInfo>();

/** Serves the dispatcher over REST. Routes come from the http annotations of the methods. */
export class RestServer {
  readonly #options: RestOptions;
  readonly #app: FastifyInstance;
  readonly #connections: Connections;
  readonly #callers: RestCallers;
  readonly #listener: Listener;
  readonly #closing = new AbortController();
  readonly #crossOrigin: CrossOrigin;
  readonly #answers: RestAnswers;
  readonly #watchOf: ReadonlyMap<MethodInfo, MethodInfo>;
  readonly #matcher: RouteMatcher;
  #document: string | undefined;
  #host = '';

  constructor(options: RestOptions) {
    this.#options = options;
    this.#crossOrigin = new CrossOrigin(options.corsOrigins);
    this.#answers = new RestAnswers(this.#crossOrigin, options.clock);
    this.#app = this.#make();
    this.#connections = new Connections(this.#app.server, 'rest', options);
    this.#callers = new RestCallers({
      dispatcher: options.dispatcher,
      connections: this.#connections,
      closing: this.#closing.signal,
      host: () => this.#host,
    });
    this.#listener = new Listener(this.#app.server, this.#connections);
    const { methods } = options.dispatcher;
    this.#matcher = new RouteMatcher(methods, [{ method: 'GET', path: openApiPath }]);
    this.#watchOf = new Map(
      methods.flatMap((list) => {
        if (list.standard?.verb !== 'List') return [];
        const watch = methods.find(
          (m) => m.standard?.verb === 'Watch' && m.standard.kind === list.standard?.kind,
        );
        return watch ? [[list, watch] as const] : [];
      }),
    );
    for (const method of methods) this.#addRoute(method);
    this.#addDocument();
  }

  #make(): FastifyInstance {
    const app = Fastify({
      logger: false,
      schemaController: { compilersFactory },
      bodyLimit: limits.requestBytesMax,
      genReqId: () => this.#options.random.uuid(),
      routerOptions: { ignoreTrailingSlash: true, maxParamLength: parameterCharactersMax },
      exposeHeadRoutes: false,
      return503OnClosing: false,
      clientErrorHandler: (error, socket) =>
        answerUnreadable(error, socket, this.#options.random.uuid()),
      serverFactory: (handler) => httpServer(handler, this.#options),
    }) as FastifyInstance;
    readJsonBodies(app, this.#options.clock);
    if (this.#options.corsOrigins.length > 0)
      app.addHook('onRequest', (request, reply, done) => {
        void reply.headers(this.#crossOrigin.headersFor(request));
        done();
      });
    app.setErrorHandler(async (error, request, reply) => {
      // A client that is still sending when the answer arrives would see a broken connection.
      if ((error as { statusCode?: number }).statusCode === 413) await discardBody(request.raw);
      return this.#fail(request, reply, error);
    });
    app.setNotFoundHandler((request, reply) => this.#notFound(request, reply));
    return app;
  }

  /** Starts listening; resolves to the port. */
  async listen(host: string, port: number): Promise<number> {
    this.#host = host;
    await this.#app.ready();
    return this.#listener.listen(host, port);
  }

  /** Ends streams, and cuts calls that are not finished after `graceMs`. */
  async close(graceMs: number): Promise<void> {
    this.#closing.abort();
    const closed = this.#listener.close(graceMs);
    await this.#app.close();
    this.#connections.drain();
    await closed;
    // Ends the timers that the HTTP server runs while it listens.
    this.#app.server.close();
  }

  #addRoute(method: MethodInfo): void {
    const { route } = method;
    if (!route) return;
    this.#app.route({
      method: route.method,
      url: fastifyPath(route.path),
      // Runs before the body is read, so that bodies of unauthenticated callers are not parsed.
      onRequest: async (request, reply) => {
        await this.#callers.authenticate(method, request, reply);
        unread.set(request, method);
      },
      // Again, because a token that was revoked meanwhile would keep its rights for as long as a body may take.
      preHandler: async (request, reply) => {
        if (!this.#callers.isLate(request)) return;
        unread.delete(request);
        await this.#callers.authenticate(method, request, reply);
      },
      handler: (request, reply) => this.#handle(method, request, reply),
    });
  }

  #addDocument(): void {
    this.#app.get(openApiPath, async (request, reply) => {
      await this.#callers.require(request, reply);
      const { schemas, dispatcher } = this.#options;
      this.#document ??= JSON.stringify(
        openApiDocument(schemas, dispatcher.methods, await this.#options.comments?.()),
      );
      return reply.type('application/json; charset=utf-8').send(this.#document);
    });
  }

  async #handle(
    method: MethodInfo,
    request: FastifyRequest,
    reply: FastifyReply,
  ): Promise<unknown> {
    const query = request.query as Record<string, string>;
    const watch = query.watch === 'true' ? this.#watchOf.get(method) : undefined;
    if (watch) {
      const { watch: _, ...rest } = query;
      return this.#stream(watch, request, reply, rest);
    }
    if (method.streaming) return this.#stream(method, request, reply, query);
    const message = withPrecondition(
      method,
      this.#message(method, request, query),
      request.headers['if-match'],
    );
    const context = this.#callers.context(request, reply);
    unread.delete(request);
    const answer = await this.#options.dispatcher.unary(method, context, message);
    const verb = method.standard?.verb;
    if (verb === 'List') {
      void reply.header('x-request-id', request.id);
      return this.#answers.sendList(method, request, reply, answer);
    }
    const tag = entityTag(answer);
    const known = verb === 'Get' && isKnown(request.headers['if-none-match'], tag);
    // Revealed values are not cached.
    const kept = verb === 'Get' && message.reveal !== true;
    const text = known ? undefined : kept ? this.#answers.text(answer) : JSON.stringify(answer);
    this.#answers.sendText(request, reply, tag, text);
    return reply;
  }

  #message(
    method: MethodInfo,
    request: FastifyRequest,
    query: Readonly<Record<string, string>>,
  ): JsonObject {
    const params = request.params as Record<string, string>;
    return requestFromHttp(method, { params, query, body: request.body });
  }

  async #stream(
    method: MethodInfo,
    request: FastifyRequest,
    reply: FastifyReply,
    query: Readonly<Record<string, string>>,
  ): Promise<void> {
    const message: Record<string, unknown> = { ...this.#message(method, request, query) };
    const resumeAt = request.headers['last-event-id'];
    if (typeof resumeAt === 'string' && resumeAt !== '') {
      const field = method.standard ? 'resourceVersion' : 'after';
      if (method.input.fields.some((f) => f.jsonName === field)) message[field] = resumeAt;
    }
    const context = this.#callers.context(request, reply);
    unread.delete(request);
    await sendStream({
      reply,
      answers: this.#options.dispatcher.stream(method, context, message),
      // A method by POST, such as a command in an instance, always streams events.
      form: method.standard
        ? 'watch'
        : query.follow === 'true' || request.method === 'POST'
          ? 'events'
          : 'lines',
      headers: { 'x-request-id': request.id, ...this.#crossOrigin.headersFor(request) },
      signal: context.signal,
      waiting: this.#options.waiting,
      requestId: request.id,
      report: (error) =>
        this.#options.logger.error('stream failed', {
          method: method.id,
          requestId: request.id,
          error,
        }),
    });
  }

  #fail(request: FastifyRequest, reply: FastifyReply, thrown: unknown): FastifyReply {
    const error = publicError(transportError(thrown));
    const method = unread.get(request);
    if (method)
      this.#options.dispatcher.unreadable(method, this.#callers.context(request, reply), error);
    if (error.code === 'Internal')
      this.#options.logger.error('request failed', {
        path: request.routeOptions.url,
        requestId: request.id,
        error: thrown,
      });
    return sendError(request, reply, error);
  }

  /**
   * Answers a request whose path or HTTP method is not served. The caller is authenticated first, so that strangers do
   * not learn which paths exist. Only the preflight of an allowed origin is answered without authentication.
   */
  async #notFound(request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> {
    const path = request.url.split('?')[0] ?? '';
    const allowed = this.#matcher.methodsOf(path);
    if (this.#crossOrigin.preflight(request, reply, allowed)) return reply;
    await this.#callers.require(request, reply);
    if (allowed.length === 0) {
      const message = `${path} is not a path of this API; see ${openApiPath} for all`;
      const error = new StatusError({ code: 'NotFound', reason: 'RouteNotFound', message });
      return sendError(request, reply, error);
    }
    const message = `${path} does not support ${request.method}; use ${allowed.join(' or ')}`;
    const error = new StatusError({ code: 'Unimplemented', reason: 'MethodNotAllowed', message });
    return sendError(request, reply.header('allow', allowed.join(', ')), error, 405);
  }
}
