import { type LinkedSignal, linkSignals } from '../../base/index.js';
import type { Identity } from '../auth/index.js';
import type { CallContext, Peer } from '../api/call.js';
import type { Caller } from '../chain/dispatcher.js';

/** The abort reason of calls; created once, because an error costs more than a short call. */
const gone = new Error('the caller disconnected');

/** A call in progress. Its signal is created on request: signals are expensive, and most short calls need none. */
export class RequestCaller implements Caller {
  readonly peer: Peer;
  readonly requestId: string;
  readonly transport: 'grpc' | 'rest';
  readonly indirection: () => string | undefined;
  readonly #closing: AbortSignal;
  #ended = false;
  #gone: AbortController | undefined;
  #link: LinkedSignal | undefined;

  constructor(
    peer: Peer,
    requestId: string,
    transport: 'grpc' | 'rest',
    /** Aborts when the server closes. */
    closing: AbortSignal,
    /** See {@link CallContext.indirection}; computed on request. */
    indirection: () => string | undefined,
  ) {
    this.indirection = indirection;
    this.peer = peer;
    this.requestId = requestId;
    this.transport = transport;
    this.#closing = closing;
  }

  /** Aborts when the caller disconnects, the call has ended, or the server stops. */
  get signal(): AbortSignal {
    if (!this.#link) {
      this.#gone = new AbortController();
      if (this.#ended) this.#gone.abort(gone);
      this.#link = linkSignals(this.#gone.signal, this.#closing);
    }
    return this.#link.signal;
  }

  /** Ends the call. */
  end(): void {
    this.#ended = true;
    this.#gone?.abort(gone);
    this.#link?.[Symbol.dispose]();
  }

  as(identity: Identity): CallContext {
    return new AuthenticatedCaller(this, identity);
  }
}

class AuthenticatedCaller implements CallContext {
  readonly identity: Identity;
  readonly peer: Peer;
  readonly requestId: string;
  readonly transport: 'grpc' | 'rest';
  readonly indirection: () => string | undefined;
  readonly #caller: RequestCaller;

  constructor(caller: RequestCaller, identity: Identity) {
    this.identity = identity;
    this.peer = caller.peer;
    this.requestId = caller.requestId;
    this.transport = caller.transport;
    this.indirection = caller.indirection;
    this.#caller = caller;
  }

  get signal(): AbortSignal {
    return this.#caller.signal;
  }
}
