import { createHmac, randomBytes } from 'node:crypto';
import { DriverError, type DriverErrorKind, type DriverErrorOptions } from '../errors/errors.js';
import { answerUnreadable } from '../messages/index.js';
import { CallJournal } from './call-journal.js';
import { type ErrorRow, kindByStatus, type Refusal, rowOf } from './error-table.js';
import {
  httpTransport,
  type Transport,
  TransportError,
  type TransportReply,
  type TransportRequest,
} from './http-transport.js';
import { mayChange, type ProviderCall } from './provider-call.js';
import { machineClock, type ProviderClock, withDeadline } from './provider-clock.js';
import { type CallDurations, ProviderTelemetry } from './provider-telemetry.js';
import { redacted } from './redact.js';
import { type BudgetRates, RequestBudget } from './request-budget.js';

/** The dependencies of a provider's client. Defaults: the machine's clock, HTTP, and no metrics. */
export interface ProviderPorts {
  readonly clock?: ProviderClock;
  readonly transport?: Transport;
  readonly durations?: CallDurations;
  /** Called once, with the metrics of the driver's calls, when the client is created. */
  readonly onTelemetry?: (telemetry: ProviderTelemetry) => void;
}

/** The description of a provider's interface. */
export interface ProviderInterface {
  /** Name of the driver, for metrics. */
  readonly driver: string;
  /** Name of the provider, for messages. */
  readonly provider: string;
  /** Scheme, host and port, such as `https://api.example.com`. */
  readonly endpoint: string;
  readonly requestTimeoutMs: number;
  readonly rates: BudgetRates;
  readonly errors: readonly ErrorRow[];
  /** Reads code and message from an error with this text; the parsed body is undefined if it is not JSON. */
  readonly refusal: (status: number, body: unknown, text: string) => Refusal;
  /** Reads the text of an answer; undefined if it can't be read. Absent: JSON. */
  readonly read?: (text: string, call: ProviderCall) => unknown;
  /** Names of headers, in lower case. The first present one of `requestId` is used; `limit` is a number per hour. */
  readonly headers: {
    readonly requestId: readonly string[];
    readonly limit: string;
    readonly remaining: string;
    /** When a refused request may be repeated, in seconds since the epoch; absent: no header contains it. */
    readonly reset?: string;
  };
  /** Writes the message of a refusal; `description` has its text, status and code. Undefined: the usual message. */
  readonly messageOf?: (
    refusal: Refusal,
    call: ProviderCall,
    description: string,
    kind: DriverErrorKind,
  ) => string | undefined;
}

const credentialsMax = 1_000;
/** The delay after a refusal by the rate limit that states none, milliseconds. */
const throttledMs = 60_000;

/**
 * A client of a provider's HTTP interface, with JSON bodies and bearer tokens or with requests that an SDK has signed.
 * Each call has a deadline, takes one request of its credential's budget, and is journaled once it has its slot. The
 * client makes no retry. It throws only DriverError: without a readable answer, Timeout for a call that may have changed
 * something or was cancelled, and Unavailable for a read or a request that was not sent.
 */
export class ProviderClient {
  readonly journal = new CallJournal();
  readonly clock: ProviderClock;
  readonly telemetry: ProviderTelemetry;
  readonly #of: ProviderInterface;
  readonly #transport: Transport;
  readonly #salt = randomBytes(16);
  /** Signals of the driver calls that have already made a request. */
  readonly #letIn = new WeakSet<AbortSignal>();
  /** Signals of background driver calls. */
  readonly #background = new WeakSet<AbortSignal>();
  /** Budgets by credential, the most recently used last. */
  readonly #budgets = new Map<string, RequestBudget>();

  constructor(of: ProviderInterface, ports: ProviderPorts) {
    this.#of = of;
    this.clock = ports.clock ?? machineClock;
    this.telemetry = new ProviderTelemetry(ports.durations, this.clock);
    ports.onTelemetry?.(this.telemetry);
    this.#transport = ports.transport ?? httpTransport();
  }

  /** Returns an identifier for a credential, which is valid in this process and does not reveal the credential. */
  credential(token: string): string {
    return createHmac('sha256', this.#salt).update(token).digest('hex').slice(0, 12);
  }

  /** Lets the requests of a driver call leave a part of the budget to others. */
  defer(signal: AbortSignal): void {
    this.#background.add(signal);
  }

  #budget(token: string): RequestBudget {
    const credential = this.credential(token);
    const known = this.#budgets.get(credential);
    const budget = known ?? new RequestBudget(this.clock, this.#of.rates);
    this.#budgets.delete(credential);
    this.#budgets.set(credential, budget);
    if (known) return budget;
    this.telemetry.budget(this.#of.driver, credential, budget);
    if (this.#budgets.size > credentialsMax)
      for (const oldest of this.#budgets.keys()) {
        this.#budgets.delete(oldest);
        this.telemetry.forgetBudget(oldest);
        break;
      }
    return budget;
  }

  /**
   * Makes a call, possibly after a wait for the budget.
   * @returns the parsed body; undefined for an empty one
   * @throws DriverError
   */
  async call(call: ProviderCall): Promise<unknown> {
    const budget = this.#budget(call.credential ?? call.token);
    const { signal } = call;
    await budget.take(signal, this.#letIn.has(signal), this.#background.has(signal));
    this.#letIn.add(signal);
    const startedAt = this.clock.now();
    const started = this.clock.monotonic();
    let reply: TransportReply | undefined;
    let error: DriverError | undefined;
    try {
      reply = await this.#send(call);
      this.#heed(reply, budget);
      return this.#read(reply, call, budget);
    } catch (thrown) {
      error = DriverError.from(thrown);
      throw error;
    } finally {
      const durationMs = Math.round(this.clock.monotonic() - started);
      const requestId = reply && this.#requestId(reply);
      this.telemetry.called(this.#of.driver, call.name, error?.kind, durationMs / 1_000);
      const made = {
        at: startedAt,
        method: call.method,
        path: redacted(pathOf(call), secretsOf(call)),
        durationMs,
        ...(reply ? { status: reply.status } : {}),
        ...(requestId === undefined ? {} : { requestId }),
        ...(error ? { error: error.kind } : {}),
      };
      for (const uid of [call.about].flat()) this.journal.add(uid, made);
    }
  }

  async #send(call: ProviderCall): Promise<TransportReply> {
    const { provider, endpoint, requestTimeoutMs } = this.#of;
    const { name } = call;
    const unknown = mayChange(call) ? 'Timeout' : 'Unavailable';
    const late = (cause: 'deadline' | 'cancelled'): Error =>
      cause === 'cancelled'
        ? new DriverError('Timeout', `${name} at ${provider} was cancelled`)
        : new DriverError(unknown, `${provider} did not answer ${name} in ${requestTimeoutMs} ms`);
    try {
      return await withDeadline(this.clock, requestTimeoutMs, call.signal, late, (signal) =>
        this.#transport({ ...requestOf(call, endpoint), signal }),
      );
    } catch (thrown) {
      if (thrown instanceof DriverError) throw thrown;
      const sent = !(thrown instanceof TransportError) || thrown.sent;
      const words = redacted(
        thrown instanceof Error ? thrown.message : String(thrown),
        secretsOf(call),
      );
      throw new DriverError(
        sent ? unknown : 'Unavailable',
        `${name} got no answer from ${provider} at ${call.signed?.url.origin ?? endpoint}: ${words}`,
        // Its message is a code, without a secret.
        sent ? {} : { cause: thrown },
      );
    }
  }

  /** Adapts the budget to the limit and the remaining requests in the headers of an answer. */
  #heed({ headers }: TransportReply, budget: RequestBudget): void {
    const { limit, remaining } = this.#of.headers;
    const perHour = Number(headers[limit]);
    if (perHour > 0) budget.adapt(perHour);
    const left = Number(headers[remaining] ?? Number.NaN);
    if (left >= 0) budget.observe(left);
  }

  #requestId({ headers, text }: TransportReply): string | undefined {
    for (const name of this.#of.headers.requestId) {
      const id = headers[name];
      if (id !== undefined && id !== '') return id.slice(0, 100);
    }
    const body = jsonOf(text);
    const id = (body as { readonly request_id?: unknown } | undefined)?.request_id;
    return typeof id === 'string' ? id.slice(0, 100) : undefined;
  }

  #read(reply: TransportReply, call: ProviderCall, budget: RequestBudget): unknown {
    const { status, text } = reply;
    const { provider } = this.#of;
    if (status >= 200 && status < 300) {
      if (text.trim() === '') return undefined;
      const { read = jsonOf } = this.#of;
      const body = read(text, call);
      if (body !== undefined) return body;
      const kind = mayChange(call) ? 'Timeout' : 'Unavailable';
      const form = this.#of.read ? 'unknown form' : 'no JSON';
      throw new DriverError(
        kind,
        `${call.name} at ${provider}: ${answerUnreadable.format()} ${form}`,
      );
    }
    throw this.#refused(reply, call, budget);
  }

  #refused(reply: TransportReply, call: ProviderCall, budget: RequestBudget): DriverError {
    const { provider, errors, refusal: read, messageOf } = this.#of;
    const refusal = read(reply.status, jsonOf(reply.text), reply.text);
    const row = rowOf(errors, refusal);
    const kind = row?.kind ?? kindByStatus(refusal.status);
    const id = this.#requestId(reply);
    const code = refusal.code === '' ? '' : `, ${refusal.code}`;
    const words = refusal.message === '' ? 'no message' : refusal.message;
    const request = id === undefined ? '' : `, request ${id}`;
    const description = `${words} (HTTP ${refusal.status}${code}${request})`;
    const plain =
      messageOf?.(refusal, call, description, kind) ??
      `${provider} refused ${call.name}: ${description}`;
    const message = row?.remedy === undefined ? plain : `${plain}; ${row.remedy}`;
    const isRate = refusal.status === 429 || row?.rateLimit === true;
    const rate = isRate ? this.#retryAfter(reply, row?.retryAfterMs) : undefined;
    if (rate !== undefined) budget.close(rate);
    const retryAfterMs =
      rate ?? row?.retryAfterMs ?? (kind === 'Throttled' ? throttledMs : undefined);
    const options: DriverErrorOptions = {
      ...(retryAfterMs === undefined ? {} : { retryAfterMs }),
      ...(id === undefined ? {} : { requestId: id }),
      ...(row?.remedy === undefined ? {} : { remedy: row.remedy }),
      ...(row?.limit === undefined ? {} : { limit: row.limit }),
      ...(row?.retryElsewhere === undefined ? {} : { retryElsewhere: row.retryElsewhere }),
    };
    return new DriverError(kind, redacted(message, secretsOf(call)), options);
  }

  /**
   * Returns the delay that a refusal by the rate limit requests, milliseconds: at least a second, and at most an hour if
   * the answer has the time of the retry instead of a delay. Without either, returns `otherwiseMs`.
   */
  #retryAfter({ headers }: TransportReply, otherwiseMs = throttledMs): number {
    const seconds = Number(headers['retry-after'] ?? Number.NaN);
    if (seconds >= 0) return Math.max(seconds * 1_000, 1_000);
    const date = Date.parse(headers['retry-after'] ?? '');
    const { reset: name } = this.#of.headers;
    const reset = Number((name && headers[name]) ?? Number.NaN) * 1_000;
    const at = Number.isNaN(date) ? reset : date;
    if (Number.isNaN(at)) return otherwiseMs;
    return Math.min(Math.max(at - this.clock.now(), 1_000), 3_600_000);
  }
}

function requestOf(call: ProviderCall, endpoint: string): Omit<TransportRequest, 'signal'> {
  const { method, signed, token, body } = call;
  if (signed) return { method, url: signed.url, headers: signed.headers, body: signed.body };
  return {
    method,
    url: new URL(pathOf(call), endpoint),
    headers: {
      ...call.headers,
      accept: 'application/json',
      authorization: `Bearer ${token}`,
      'user-agent': 'kedge',
      ...(body === undefined ? {} : { 'content-type': 'application/json' }),
    },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  };
}

function secretsOf({ token, secrets = [] }: ProviderCall): readonly string[] {
  return [token, ...secrets];
}

function pathOf({ path, query }: ProviderCall): string {
  if (query === undefined) return path;
  return `${path}?${new URLSearchParams(query).toString()}`;
}

function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return undefined; // the caller reports it
  }
}
