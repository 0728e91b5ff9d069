import {
  backoffDelayMs,
  type Clock,
  hasCode,
  linkSignals,
  portRules,
  type Random,
  requireOptions,
  sleep,
  StatusError,
} from '../../base/index.js';
import { baseDescriptors, type JsonObject, SchemaRegistry } from '../../rpc/index.js';
import { storeClosed } from '../../store/engine/store-closed.js';
import { ApiClient } from '../calls/client.js';
import type { ApiClientOptions } from '../calls/client-options.js';

/** Server and credentials of a remote store. */
export interface RemoteConnection
  extends Pick<ApiClientOptions, 'server' | 'token' | 'tls' | 'keepaliveMs'> {
  /** Timeout of a call in milliseconds, including time without a connection; default 10 s. */
  readonly timeoutMs?: number;
}

/** Delay before a read is retried while the server is unreachable. */
const backoff = { baseMs: 100, maxMs: 2_000, jitter: 0.25 };
const defaultTimeoutMs = 10_000;

/** Codes after which the outcome of a transaction is unknown, unless the server itself returned them. */
const openCodes = ['Unavailable', 'DeadlineExceeded', 'Cancelled', 'Unknown', 'Internal'] as const;

const server = {
  give: 'host:port of the gRPC endpoint',
  fits: (value: unknown) => typeof value === 'string' && value !== '' && !/^https?:/i.test(value),
};
const { clock, random, logger } = portRules;

/**
 * Returns the options of a connection if they are valid.
 * @throws TypeError for a `server` that is an http or https URL (gRPC would only report an unreachable server), empty or
 * not a string, and for an invalid clock, random source or logger
 */
export function requireConnection<O extends RemoteConnection>(options: O): O {
  requireOptions('RemoteStore', options, { server, clock, random, logger });
  return options;
}

/** Calls of the object service, each with a deadline. */
export class RemoteCalls {
  readonly #client: ApiClient;
  readonly #timeoutMs: number;
  readonly #server: string;
  readonly #clock: Clock;
  readonly #random: Random;
  readonly #closing = new AbortController();

  constructor(connection: RemoteConnection, clock: Clock, random: Random) {
    const { timeoutMs = defaultTimeoutMs, ...where } = connection;
    if (!Number.isFinite(timeoutMs) || timeoutMs <= 0)
      throw new RangeError(`timeoutMs is ${timeoutMs}; give milliseconds, a finite number above 0`);
    const schemas = new SchemaRegistry(baseDescriptors);
    this.#timeoutMs = timeoutMs;
    this.#server = connection.server;
    this.#clock = clock;
    this.#random = random;
    this.#client = new ApiClient({ ...where, schemas, packageName: 'kedge' });
  }

  /**
   * Makes a call that is safe to repeat. Repeats it while it fails as Unavailable, until the deadline.
   * @throws StatusError Unavailable or DeadlineExceeded at the deadline; other errors of the server at once
   */
  async read(
    method: string,
    request: () => JsonObject,
    options: { readonly timeoutMs?: number; readonly signal?: AbortSignal } = {},
  ): Promise<JsonObject> {
    const endsAt = this.#clock.monotonic() + (options.timeoutMs ?? this.#timeoutMs);
    using link = linkSignals(this.#closing.signal, ...(options.signal ? [options.signal] : []));
    const { signal } = link;
    for (let tries = 0; ; tries += 1) {
      this.#requireOpen();
      const leftMs = Math.max(1, endsAt - this.#clock.monotonic());
      try {
        return await this.#client.call(method, request(), { timeoutMs: leftMs, signal });
      } catch (error) {
        this.#requireOpen();
        const delayMs = backoffDelayMs(backoff, tries, this.#random);
        const late = this.#clock.monotonic() + delayMs >= endsAt;
        if (!hasCode(error, 'Unavailable') || late || signal.aborted) throw error;
        await sleep(this.#clock, delayMs, signal);
        if (signal.aborted) throw error;
      }
    }
  }

  /**
   * Makes a call that must not be repeated.
   * @throws StatusError Unavailable: reason Unreachable if the call was not sent, OutcomeUnknown if the answer was
   * lost: the call was committed once or not at all.
   */
  async write(method: string, request: () => JsonObject): Promise<JsonObject> {
    this.#requireOpen();
    const endsAt = this.#clock.monotonic() + this.#timeoutMs;
    const { signal } = this.#closing;
    if (!(await this.#client.connected(this.#timeoutMs, signal))) {
      this.#requireOpen();
      throw new StatusError({
        code: 'Unavailable',
        reason: 'Unreachable',
        message: `${this.#server} can't be reached within ${this.#timeoutMs} ms, and no request was sent; start it, or correct its address`,
      });
    }
    const leftMs = Math.max(1, endsAt - this.#clock.monotonic());
    try {
      return await this.#client.call(method, request(), { timeoutMs: leftMs, signal, attempts: 1 });
    } catch (error) {
      throw isOpen(error) ? outcomeUnknown(this.#server, error) : error;
    }
  }

  /**
   * Yields the messages of a server stream. Ends without an error when `signal` aborts or the calls are closed.
   * @throws StatusError Unavailable (Silent) after `silenceMs` without a message; errors of the stream
   */
  async *stream(
    method: string,
    request: JsonObject,
    signal: AbortSignal,
    silenceMs: number,
  ): AsyncIterable<JsonObject> {
    this.#requireOpen();
    const silent = new AbortController();
    using link = linkSignals(signal, this.#closing.signal, silent.signal);
    const arm = () => this.#clock.setTimer(() => silent.abort(), silenceMs);
    let timer = arm();
    try {
      for await (const answer of this.#client.stream(method, request, link.signal)) {
        timer.cancel();
        yield answer;
        timer = arm();
      }
    } finally {
      timer.cancel();
    }
    if (!silent.signal.aborted || signal.aborted) return;
    throw new StatusError({
      code: 'Unavailable',
      reason: 'Silent',
      message: `${this.#server} has sent nothing for ${silenceMs} ms, not even a bookmark`,
    });
  }

  close(): void {
    this.#closing.abort();
    this.#client.close();
  }

  #requireOpen(): void {
    if (this.#closing.signal.aborted) throw storeClosed();
  }
}

/** True for a failure of the connection, whose reason is its code; errors of the server have a reason of their own. */
function isOpen(error: unknown): error is StatusError {
  return openCodes.some((code) => hasCode(error, code) && error.reason === code);
}

function outcomeUnknown(server: string, cause: StatusError): StatusError {
  return new StatusError({
    code: 'Unavailable',
    reason: 'OutcomeUnknown',
    message: `the answer of ${server} was lost (${cause.message}): the transaction was either committed or not; read the objects before you repeat it`,
    cause,
  });
}
