import { constants } from 'node:http2';
import {
  type Metadata,
  ServerInterceptingCall,
  type ServerInterceptingCallInterface,
  type ServerInterceptor,
} from '@grpc/grpc-js';
import { type Clock, StatusError } from '../../base/index.js';
import type { MethodInfo } from '../../rpc/index.js';
import type { Identity } from '../auth/index.js';
import { anonymous } from '../api/call.js';
import type { Dispatcher } from '../chain/dispatcher.js';
import type { RequestCaller } from '../transport/request-caller.js';
import type { SentStatus, StatusOf } from './errors.js';
import { UnfinishedCalls } from './unfinished-calls.js';

/** Maximum number of open unauthenticated calls: each may buffer a message of four megabytes. */
const anonymousMax = 32;

/** Dependencies of the gate. */
export interface GateOptions {
  readonly clock: Clock;
  readonly dispatcher: Dispatcher;
  readonly callerOf: (call: ServerInterceptingCallInterface, metadata: Metadata) => RequestCaller;
  readonly statusOf: StatusOf;
}

/** An authenticated call. */
export interface AuthenticatedCall {
  readonly caller: RequestCaller;
  readonly identity: Identity;
  /** Ends the call and frees buffered data of its stream. */
  readonly cut: (why: StatusError) => void;
}

/**
 * Authenticates a call before anything of a message is read. grpc-js alone reads a complete message before it calls the
 * handler: unauthenticated clients could fill the memory, and learn from errors which methods exist.
 */
export class GrpcGate {
  readonly #options: GateOptions;
  readonly #methods: ReadonlyMap<string, MethodInfo>;
  /** Authenticated calls by their metadata, which is passed to the handler. */
  readonly #authenticated = new WeakMap<Metadata, AuthenticatedCall>();
  readonly #unfinished: UnfinishedCalls;
  #anonymous = 0;

  constructor(options: GateOptions) {
    this.#options = options;
    this.#unfinished = new UnfinishedCalls(options.clock);
    this.#methods = new Map(options.dispatcher.methods.map((m) => [m.grpcPath, m]));
  }

  /** The interceptor of the server. */
  readonly interceptor: ServerInterceptor = ({ path }, call) => {
    let caller: RequestCaller | undefined;
    let leave: (() => void) | undefined;
    let arrived: (() => void) | undefined;
    let over = false;
    const streamed = this.#methods.get(path)?.clientStreaming !== false;
    return new ServerInterceptingCall(call, {
      start: (next) =>
        next({
          onReceiveMetadata: (metadata, proceed) => {
            const present = this.#options.callerOf(call, metadata);
            caller = present;
            this.#prove(path, metadata, present)
              .then((identity) => {
                if (over) return;
                if (identity === anonymous) leave = this.#enter();
                const cut = (why: StatusError): void =>
                  refuse(call, this.#options.statusOf({ id: path }, why));
                this.#authenticated.set(metadata, { caller: present, identity, cut });
                arrived = this.#unfinished.begin(identity.uid ?? identity.subject, cut);
                proceed(metadata);
              })
              .catch((thrown: unknown) => {
                refuse(call, this.#options.statusOf({ id: path }, thrown));
              });
          },
          onReceiveMessage: (message, proceed) => {
            // Each message of a client stream is complete by itself, and the handler waits for the next one.
            if (streamed) arrived?.();
            proceed(message);
          },
          onReceiveHalfClose: (proceed) => {
            arrived?.();
            proceed();
          },
          // Also called after the call was answered.
          onCancel: () => {
            over = true;
            arrived?.();
            caller?.end();
            leave?.();
            leave = undefined;
          },
        }),
    });
  };

  /**
   * The caller and identity of an authenticated call, by the call's metadata.
   * @throws TypeError for a call that was not authenticated
   */
  of(metadata: Metadata): AuthenticatedCall {
    const authenticated = this.#authenticated.get(metadata);
    if (!authenticated) throw new TypeError('a call reached its handler without authentication');
    return authenticated;
  }

  #prove(path: string, metadata: Metadata, caller: RequestCaller): Promise<Identity> {
    const { dispatcher } = this.#options;
    const header = authorizationOf(metadata);
    const method = this.#methods.get(path);
    if (method) return dispatcher.authenticate(method, header, caller);
    // Authenticate before NotFound, so that methods are not disclosed.
    return dispatcher.requireCaller(header, caller);
  }

  #enter(): () => void {
    if (this.#anonymous >= anonymousMax)
      throw new StatusError({
        code: 'ResourceExhausted',
        reason: 'TooManyCalls',
        message: `${anonymousMax} calls without a token are open, which is the limit; retry later`,
        retryAfterMs: 1_000,
      });
    this.#anonymous += 1;
    return () => (this.#anonymous -= 1);
  }
}

/**
 * The authorization header of a call, if any. Several headers become an invalid value, because each of them could be
 * the intended one.
 */
function authorizationOf(metadata: Metadata): string | undefined {
  const headers = metadata.get('authorization');
  return headers.length > 1 ? 'several' : headers[0] && String(headers[0]);
}

/**
 * Answers a call whose request may still be arriving, and closes its stream: received data stays in memory as long as
 * the stream is open.
 */
function refuse(call: ServerInterceptingCallInterface, status: SentStatus): void {
  call.sendStatus(status);
  // Not a public API of grpc-js. Without it the client decides when the stream ends.
  const { stream } = call as { stream?: { close?(code: number): void } };
  stream?.close?.(constants.NGHTTP2_NO_ERROR);
}
