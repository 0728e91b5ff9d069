import {
  type Clock,
  type Counter,
  type Histogram,
  type Metrics,
  type StatusCode,
  StatusError,
  timestamp,
} from '../../base/index.js';
import { after, isPromise, type Later, recovered } from '../../base/promises/later.js';
import { type JsonObject, type MethodInfo, present } from '../../rpc/index.js';
import type { ServedKind } from '../api/served-kind.js';
import type { AuditEntry, AuditSink } from '../api/audit.js';
import {
  type Access,
  type AccessControl,
  type Authentication,
  type Identity,
} from '../auth/index.js';
import { anonymous, type CallContext, type CustomMethod, type Peer } from '../api/call.js';
import { publicError } from '../schema/error-body.js';
import type { FailureDelay } from './failure-delay.js';
import { MethodRights } from './method-rights.js';
import { requireName } from './normalized-request.js';
import { recordedText } from './recorded-text.js';
import type { ObjectAccess } from '../api/object-access.js';
import type { Resources } from '../objects/resources.js';
import { GuardedStream } from './guarded-stream.js';
import type { StreamEnd } from './paced-ends.js';
import type { OpenSession, Sessions } from './sessions.js';

/** Options of the chain. */
export interface DispatcherOptions {
  readonly methods: readonly MethodInfo[];
  readonly served: ReadonlyMap<string, ServedKind>;
  readonly custom: readonly CustomMethod[];
  readonly authenticator: Authentication;
  readonly authorizer: AccessControl;
  readonly objectAccess: ObjectAccess | undefined;
  readonly resources: Resources;
  readonly sessions: Sessions;
  readonly failureDelay: FailureDelay;
  readonly audit: AuditSink | undefined;
  readonly metrics: Metrics;
  readonly clock: Clock;
}

/** A call before authentication. */
export interface Caller {
  readonly peer: Peer;
  readonly requestId: string;
  readonly transport: 'grpc' | 'rest';
  readonly signal: AbortSignal;
}

/**
 * The chain of both transports: authentication, authorization, handler, audit record and metrics. It is independent
 * of the transport, so that both behave alike.
 */
export class Dispatcher {
  readonly #options: DispatcherOptions;
  readonly #custom: ReadonlyMap<string, CustomMethod>;
  readonly #rights: MethodRights;
  readonly #requests: Counter;
  readonly #seconds: Histogram;

  constructor(options: DispatcherOptions) {
    this.#options = options;
    this.#custom = new Map(options.custom.map((method) => [method.id, method]));
    this.#rights = new MethodRights(options.served, this.#custom);
    for (const method of options.methods)
      if (!method.standard && !this.#custom.has(method.id))
        throw new TypeError(`method ${method.id} has no handler`);
    this.#requests = options.metrics.counter({
      name: 'api_requests_total',
      help: 'Finished calls and ended streams',
      labels: ['method', 'transport', 'code'],
    });
    this.#seconds = options.metrics.histogram({
      name: 'api_request_duration_seconds',
      help: 'Duration of unary calls',
      labels: ['method', 'transport'],
    });
  }

  get methods(): readonly MethodInfo[] {
    return this.#options.methods;
  }

  /**
   * Authenticates a call before anything of the request is read. Failures are recorded, and those with a token are
   * delayed as {@link FailureDelay} says.
   * @throws StatusError Unauthenticated
   */
  authenticate(method: MethodInfo, header: string | undefined, caller: Caller): Later<Identity> {
    if (this.#custom.get(method.id)?.access.type === 'anonymous') return anonymous;
    return this.#prove(method, header, caller);
  }

  /**
   * Authenticates a call without a method, for example of an unknown path. Failures are recorded and delayed alike.
   * @throws StatusError Unauthenticated
   */
  requireCaller(header: string | undefined, caller: Caller): Later<Identity> {
    return this.#prove(undefined, header, caller);
  }

  #prove(
    method: MethodInfo | undefined,
    header: string | undefined,
    caller: Caller,
  ): Later<Identity> {
    return recovered(
      () => this.#options.authenticator.authenticate(header),
      (error) => {
        const { peer, requestId, transport } = caller;
        const context = { peer, requestId, transport, identity: { ...anonymous, subject: '' } };
        this.#over(method, context, {}, this.#options.clock.monotonic(), error);
        return this.#delayed(header, caller, error);
      },
    );
  }

  /** Rejects with the error of an authentication, later if it may be a guess: a call without a token is not one. */
  async #delayed(header: string | undefined, caller: Caller, error: unknown): Promise<never> {
    if (header) await this.#options.failureDelay.failed(caller.peer.address, caller.signal);
    throw error;
  }

  /** Records a request that could not be parsed and did not reach a handler. */
  unreadable(method: MethodInfo, context: CallContext, error: unknown): void {
    this.#over(method, context, {}, this.#options.clock.monotonic(), error);
  }

  /** Authorizes a unary call, returns the answer of its handler, and records it. @throws StatusError */
  async unary(method: MethodInfo, context: CallContext, given: JsonObject): Promise<JsonObject> {
    const request = this.#rights.normalized(method, given);
    const begun = this.#options.clock.monotonic();
    try {
      const authorized = this.#authorize(method, context, request);
      if (isPromise(authorized)) await authorized;
      const answer = await this.#answer(method, context, request);
      this.#over(method, context, request, begun);
      return answer;
    } catch (error) {
      this.#over(method, context, request, begun, error);
      throw error;
    }
  }

  #answer(method: MethodInfo, context: CallContext, request: JsonObject): Later<JsonObject> {
    const custom = this.#custom.get(method.id);
    if (custom?.handler.type === 'unary')
      return after(custom.handler.call(context, request), (answer) =>
        present(method.output, answer),
      );
    const { served, verb } = this.#rights.standard(method);
    if (verb === 'Watch') throw this.#rights.unimplemented(method);
    return this.#options.resources.unary(verb, served, context, request);
  }

  /**
   * A server stream. It is authorized before the first answer, and ends when its right ends; see {@link Sessions}.
   */
  stream(method: MethodInfo, context: CallContext, given: JsonObject): AsyncIterable<JsonObject> {
    const request = this.#rights.normalized(method, given);
    return this.#session(method, context, request, (inner) => {
      const custom = this.#custom.get(method.id);
      if (custom?.handler.type === 'stream') return custom.handler.call(inner, request);
      const { served } = this.#rights.standard(method);
      return this.#options.resources.watch(served, inner, request);
    });
  }

  /**
   * Runs a bidirectional stream: the first request determines the access.
   * @throws StatusError as the other calls, Unimplemented for a method without a handler
   */
  async *bidi(
    method: MethodInfo,
    context: CallContext,
    requests: AsyncIterable<JsonObject>,
  ): AsyncIterable<JsonObject> {
    const { handler } = this.#custom.get(method.id) ?? {};
    if (handler?.type !== 'bidi') throw this.#rights.unimplemented(method);
    const iterator = requests[Symbol.asyncIterator]();
    const first = await iterator.next().catch((error: unknown) => {
      this.unreadable(method, context, error);
      throw error;
    });
    const opening = handler.opening(first.done ? {} : first.value);
    const request = this.#rights.normalized(method, opening);
    yield* this.#session(method, context, request, (inner, end) =>
      handler.call(inner, request, end.until(iterator)),
    );
  }

  #session(
    method: MethodInfo,
    context: CallContext,
    request: JsonObject,
    source: (context: CallContext, end: StreamEnd) => AsyncIterable<JsonObject>,
  ): AsyncIterable<JsonObject> {
    const begun = this.#options.clock.monotonic();
    let session: OpenSession | undefined;
    return new GuardedStream({
      open: async () => {
        const access = await this.#authorize(method, context, request);
        this.#record('begin', method, context, request, 'OK', '', 0);
        const { identity, peer, requestId, transport } = context;
        session = await this.#options.sessions.open(identity, access, context.signal);
        const { signal, end } = session;
        return { source: source({ identity, peer, requestId, transport, signal }, end), end };
      },
      close: (failure) => {
        session?.close();
        this.#over(method, context, request, begun, failure);
      },
    });
  }

  #authorize(
    method: MethodInfo,
    context: CallContext,
    request: JsonObject,
  ): Later<Access | undefined> {
    const access = this.#rights.accessOf(method, request);
    if (!access) return undefined;
    return after(this.#options.authorizer.require(context.identity, access), () => {
      this.#requireNarrow(method, context, request);
      return access;
    });
  }

  /** Checks what an authorized call needs besides its right. @throws StatusError InvalidArgument, PermissionDenied */
  #requireNarrow(method: MethodInfo, context: CallContext, request: JsonObject): void {
    requireName(method, request);
    const narrows =
      method.standard !== undefined || this.#custom.get(method.id)?.access.type === 'request';
    if (!narrows && this.#options.objectAccess?.filterFor(context.identity))
      throw new StatusError({
        code: 'PermissionDenied',
        reason: 'PermissionDenied',
        message: `${context.identity.subject} is permitted to access only its own objects, and ${method.id} is not limited to them`,
      });
  }

  #over(
    method: MethodInfo | undefined,
    context: Omit<CallContext, 'signal'>,
    request: JsonObject,
    begun: number,
    thrown?: unknown,
  ): void {
    const error = thrown === undefined ? undefined : publicError(thrown);
    const code = error?.code ?? 'OK';
    const { transport } = context;
    const tookMs = this.#options.clock.monotonic() - begun;
    this.#requests.inc({ method: method?.id ?? '', transport, code });
    if (method?.streaming === false)
      this.#seconds.observe({ method: method.id, transport }, tookMs / 1_000);
    this.#record('end', method, context, request, code, error?.reason ?? '', tookMs);
  }

  #record(
    stage: AuditEntry['stage'],
    method: MethodInfo | undefined,
    { identity, requestId, peer, transport }: Omit<CallContext, 'signal'>,
    request: JsonObject,
    code: StatusCode,
    reason: string,
    tookMs: number,
  ): void {
    const { audit, clock } = this.#options;
    if (!audit) return;
    const time = timestamp(clock);
    for (const access of this.#rights.recorded(method, request, code)) {
      const { verb, resource, namespace, name, operations } = access;
      if (!audit.wants(verb, code)) continue;
      audit.record({
        time,
        requestId,
        subject: identity.subject,
        tokenId: identity.tokenId,
        peer: peer.address,
        transport,
        method: method?.id ?? '',
        verb,
        resource,
        namespace: recordedText(namespace),
        name: recordedText(name),
        ...(operations === undefined ? {} : { operations }),
        stage,
        code,
        reason,
        durationMs: Math.round(tookMs * 1_000) / 1_000,
      });
    }
  }
}
