import { type LinkedSignal, linkSignals } from '../../base/index.js';
import type { Identity } from '../auth/index.js';
import type { CallContext, Peer } from '../api/call.js';
import type { Caller } from '../chain/dispatcher.js';

/** Given to those that wait; made once, for making one costs more than a short call. */
const gone = new Error('the caller disconnected');

/**
 * A call in progress. Its signal is made when somebody asks for it: short calls never do, and signals
 * are the most expensive part of them.
 */
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
    /** Of the server. */
    closing: AbortSignal,
    /** See {@link CallContext}; asked where it matters. */
    indirection: () => string | undefined,
  ) {
    this.indirection = indirection;
    this.peer = peer;
    this.requestId = requestId;
    this.transport = transport;
    this.#closing = closing;
  }

  /** Aborts when the caller goes away or the server stops. */
  get signal(): AbortSignal {
    if (!this.#link) {
      this.#gone = new AbortController();
      if (this.#ended) this.#gone.abort(gone);
      this.#link = linkSignals(this.#gone.signal, this.#closing);
    }
    return this.#link.signal;
  }

  /** The call is over, however it ended. */
  end(): void {
    this.#ended = true;
    this.#gone?.abort(gone);
    this.#link?.[Symbol.dispose]();
  }

  as(identity: Identity): CallContext {
    return new ProvenCaller(this, identity);
  }
}

class ProvenCaller implements CallContext {
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
