import type { IncomingMessage } from 'node:http';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { MethodInfo } from '../../rpc/index.js';
import type { CallContext } from '../api/call.js';
import type { Identity } from '../auth/index.js';
import type { Dispatcher } from '../chain/dispatcher.js';
import type { Connections } from '../transport/connections.js';
import { indirection } from '../transport/indirect-call.js';
import { peerOfSocket } from '../transport/peer.js';
import { RequestCaller } from '../transport/request-caller.js';

/** Dependencies of {@link RestCallers}. */
export interface RestCallersOptions {
  readonly dispatcher: Dispatcher;
  readonly connections: Connections;
  /** Aborts when the server closes. */
  readonly closing: AbortSignal;
  /** Returns the listen address. */
  readonly host: () => string;
}

/** The callers of requests, shared by hooks and handlers. */
export class RestCallers {
  readonly #options: RestCallersOptions;
  readonly #callers = new WeakMap<FastifyRequest, RequestCaller>();
  readonly #identities = new WeakMap<FastifyRequest, Identity>();
  /** Requests that had not arrived completely when their caller was authenticated. */
  readonly #late = new WeakSet<FastifyRequest>();

  constructor(options: RestCallersOptions) {
    this.#options = options;
  }

  /** The caller of a request, before it is authenticated. */
  of(request: FastifyRequest, reply: FastifyReply): RequestCaller {
    const known = this.#callers.get(request);
    if (known) return known;
    const { connections, closing, host: listenAddress } = this.#options;
    const peer = peerOfSocket(request.raw.socket);
    const caller = new RequestCaller(peer, request.id, 'rest', closing, () => {
      const { host, origin } = request.headers;
      return indirection({ host, origin, names: Object.keys(request.headers) }, listenAddress());
    });
    const unused = connections.use(request.raw.socket);
    reply.raw.on('close', () => {
      caller.end();
      unused();
    });
    this.#callers.set(request, caller);
    return caller;
  }

  /** Authenticates the caller of a method. @throws StatusError Unauthenticated */
  async authenticate(
    method: MethodInfo,
    request: FastifyRequest,
    reply: FastifyReply,
  ): Promise<void> {
    const { dispatcher } = this.#options;
    const header = authorizationOf(request.raw);
    const identity = await dispatcher.authenticate(method, header, this.of(request, reply));
    this.#identities.set(request, identity);
    if (!request.raw.complete) this.#late.add(request);
  }

  /** Whether a request arrived after its caller was authenticated, who may have lost the right meanwhile. */
  isLate(request: FastifyRequest): boolean {
    return this.#late.has(request);
  }

  /** Authenticates the caller of a request without a method. @throws StatusError Unauthenticated */
  async require(request: FastifyRequest, reply: FastifyReply): Promise<void> {
    const { dispatcher } = this.#options;
    await dispatcher.requireCaller(authorizationOf(request.raw), this.of(request, reply));
  }

  /** The context of an authenticated call. */
  context(request: FastifyRequest, reply: FastifyReply): CallContext {
    const identity = this.#identities.get(request);
    if (!identity) throw new TypeError('a request reached its handler without authentication');
    return this.of(request, reply).as(identity);
  }
}

/**
 * The authorization header of a request, if any. Several headers become an invalid value, because each of them could
 * be the intended one; Node.js would drop all but the first.
 */
function authorizationOf({ headersDistinct }: IncomingMessage): string | undefined {
  const found = headersDistinct.authorization ?? [];
  return found.length > 1 ? 'several' : found[0];
}
