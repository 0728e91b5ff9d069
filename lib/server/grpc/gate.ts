import { type Clock, StatusError } from '../../base/index.js';
import { after, type Later, recovered } from '../../base/promises/later.js';
import type { MethodInfo } from '../../rpc/index.js';
import type { Identity } from '../auth/index.js';
import { anonymous } from '../api/call.js';
import type { Dispatcher } from '../chain/dispatcher.js';
import type { RequestCaller } from '../transport/request-caller.js';
import type { GrpcCall } from './call.js';
import type { StatusOf } from './errors.js';
import { UnfinishedCalls } from './unfinished-calls.js';

/** Maximum number of open unauthenticated calls: each may buffer a message of four megabytes. */
const anonymousMax = 32;

/** Dependencies of the gate. */
export interface GateOptions {
  readonly clock: Clock;
  readonly dispatcher: Dispatcher;
  readonly statusOf: StatusOf;
}

/** An authenticated call of a method. */
export interface AuthenticatedCall {
  readonly call: GrpcCall;
  readonly method: MethodInfo;
  readonly caller: RequestCaller;
  readonly identity: Identity;
  /**
   * Returns the caller of a request that has arrived. One that arrived after its headers is authenticated again: a
   * token that was revoked meanwhile would keep its rights for as long as a request may take.
   */
  readonly identify: () => Later<Identity>;
  /** To be called when the request has arrived, or the first message of a client stream. */
  readonly arrived: () => void;
}

/**
 * Authenticates a call before anything of a message is read. Otherwise unauthenticated clients could fill the memory,
 * and learn from errors which methods exist.
 */
export class GrpcGate {
  readonly #options: GateOptions;
  readonly #methods: ReadonlyMap<string, MethodInfo>;
  readonly #unfinished: UnfinishedCalls;
  #anonymous = 0;
  #run: object | undefined;

  constructor(options: GateOptions) {
    this.#options = options;
    this.#unfinished = new UnfinishedCalls(options.clock);
    this.#methods = new Map(options.dispatcher.methods.map((m) => [m.grpcPath, m]));
  }

  /** Authenticates a call. Calls `handle` if it is accepted, and answers it otherwise. */
  enter(
    call: GrpcCall,
    caller: RequestCaller,
    handle: (authenticated: AuthenticatedCall) => void,
  ): void {
    const { path } = call;
    const method = this.#methods.get(path);
    const run = this.#presentRun();
    const entered = recovered(
      () =>
        after(this.#prove(method, call, caller), (identity) => {
          if (call.isOver) return;
          if (!method) throw unknown(path);
          if (identity === anonymous) call.whenOver(this.#enter());
          else call.trust();
          const cut = (why: StatusError): void => call.cut(this.#options.statusOf(method, why));
          const arrived = this.#unfinished.begin(identity.uid ?? identity.subject, cut);
          call.whenOver(arrived);
          const isProven = call.hasArrived || identity === anonymous;
          const identify = (): Later<Identity> =>
            isProven || this.#run === run ? identity : this.#prove(method, call, caller);
          handle({ call, method, caller, identity, identify, arrived });
        }),
      (thrown) => call.finish(this.#options.statusOf({ id: path }, thrown)),
    );
    void entered;
  }

  /** Identifies what runs without a pause, such as the work on all frames of one read: nothing is revoked meanwhile. */
  #presentRun(): object {
    if (!this.#run) {
      this.#run = {};
      // Not queueMicrotask, which creates an asynchronous resource for each callback.
      void Promise.resolve().then(() => (this.#run = undefined));
    }
    return this.#run;
  }

  #prove(method: MethodInfo | undefined, call: GrpcCall, caller: RequestCaller): Later<Identity> {
    const { dispatcher } = this.#options;
    const header = authorizationOf(call);
    if (method) return dispatcher.authenticate(method, header, caller);
    // Authenticate before Unimplemented, so that methods are not disclosed.
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
    return () => void (this.#anonymous -= 1);
  }
}

/**
 * The authorization header of a call, if any. Several headers become an invalid value, because each of them could be
 * the intended one.
 */
function authorizationOf({ headers }: GrpcCall): string | undefined {
  let found: string | undefined;
  for (const [name, value] of headers)
    if (name === 'authorization') found = found === undefined ? value : 'several';
  return found;
}

function unknown(path: string): StatusError {
  return new StatusError({
    code: 'Unimplemented',
    reason: 'Unimplemented',
    message: `${path} is not a method of this API; reflection lists all methods`,
  });
}
