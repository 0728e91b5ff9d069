/**
 * The errors of drivers. Their kinds are a closed set, by which the controllers decide. Neither the message nor `cause`
 * may contain a secret.
 */

/** The kinds of errors. {@link errorClasses} has the class of each kind. */
export type DriverErrorKind =
  | 'NotFound'
  | 'AlreadyExists'
  | 'InvalidParameters'
  | 'CredentialsRejected'
  | 'PermissionDenied'
  | 'QuotaExceeded'
  | 'Throttled'
  | 'InUse'
  | 'Unsupported'
  | 'Timeout'
  | 'Unavailable'
  | 'Internal';

/** One call of a provider, without its bodies. */
export interface JournaledCall {
  /** Milliseconds since the epoch. */
  readonly at: number;
  readonly method: string;
  /** With the query; never with a credential. */
  readonly path: string;
  /** Absent: no answer. */
  readonly status?: number;
  /** The provider's id of the request, for its support. */
  readonly requestId?: string;
  readonly durationMs: number;
  readonly error?: DriverErrorKind;
}

/** Further facts of an error. */
export interface DriverErrorOptions {
  readonly cause?: unknown;
  /** Throttled: the delay before the retry, in milliseconds. */
  readonly retryAfterMs?: number;
  /** Timeout: the provider's operation whose outcome is unknown. */
  readonly operation?: string;
  /** The provider's id of the request, for its support. */
  readonly requestId?: string;
  /** The action that solves the problem; it is part of the message, too. */
  readonly remedy?: string;
  /** QuotaExceeded: another zone or node may have what this one lacks. */
  readonly retryElsewhere?: boolean;
  /** QuotaExceeded: the limit that was reached. */
  readonly limit?: number;
  /** The last calls of the provider about the volume or snapshot, the oldest first. */
  readonly calls?: readonly JournaledCall[];
}

const brand = Symbol.for('kedge.DriverError');

/** The only error class of drivers; `kind` classifies it. */
export class DriverError extends Error {
  readonly kind: DriverErrorKind;
  readonly retryAfterMs: number | undefined;
  readonly operation: string | undefined;
  readonly requestId: string | undefined;
  readonly remedy: string | undefined;
  readonly retryElsewhere: boolean;
  readonly limit: number | undefined;
  readonly calls: readonly JournaledCall[];

  constructor(kind: DriverErrorKind, message: string, options: DriverErrorOptions = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.name = 'DriverError';
    this.kind = kind;
    this.retryAfterMs = options.retryAfterMs;
    this.operation = options.operation;
    this.requestId = options.requestId;
    this.remedy = options.remedy;
    this.retryElsewhere = options.retryElsewhere ?? false;
    this.limit = options.limit;
    this.calls = options.calls ?? [];
    Object.defineProperty(this, brand, { value: true });
  }

  static override [Symbol.hasInstance](value: unknown): boolean {
    return typeof value === 'object' && value !== null && brand in value;
  }

  /** The same error with the calls of the provider that led to it. */
  withCalls(calls: readonly JournaledCall[]): DriverError {
    return calls.length === 0 ? this : this.#copy(this.message, calls);
  }

  /** The same error with a text after its message. */
  adding(text: string): DriverError {
    return this.#copy(`${this.message}; ${text}`, this.calls);
  }

  #copy(message: string, calls: readonly JournaledCall[]): DriverError {
    const { kind, retryAfterMs, operation, requestId, remedy, limit } = this;
    return new DriverError(kind, message, {
      calls,
      cause: this,
      retryElsewhere: this.retryElsewhere,
      ...(retryAfterMs === undefined ? {} : { retryAfterMs }),
      ...(operation === undefined ? {} : { operation }),
      ...(requestId === undefined ? {} : { requestId }),
      ...(remedy === undefined ? {} : { remedy }),
      ...(limit === undefined ? {} : { limit }),
    });
  }

  /** Converts any thrown value; unknown ones become Internal with their cause. */
  static from(thrown: unknown): DriverError {
    if (thrown instanceof DriverError) return thrown;
    const message = thrown instanceof Error ? thrown.message : String(thrown);
    return new DriverError('Internal', message, { cause: thrown });
  }
}

/**
 * The class of each kind. `final`: a retry fails until the parameters, the credential or the resource are changed.
 * `retry`: a retry may succeed. `unknown`: the call may have been executed.
 */
export const errorClasses = {
  NotFound: 'final',
  AlreadyExists: 'final',
  InvalidParameters: 'final',
  Unsupported: 'final',
  CredentialsRejected: 'final',
  PermissionDenied: 'final',
  QuotaExceeded: 'retry',
  Throttled: 'retry',
  InUse: 'retry',
  Unavailable: 'retry',
  Internal: 'retry',
  Timeout: 'unknown',
} as const satisfies Readonly<Record<DriverErrorKind, 'final' | 'retry' | 'unknown'>>;
