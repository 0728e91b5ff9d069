import type { DriverErrorKind } from '../errors/errors.js';

/** The refusal of a call by a provider. */
export interface Refusal {
  readonly status: number;
  /** The provider's error code as in its answer; empty if there is none. */
  readonly code: string;
  readonly message: string;
}

/**
 * A rule that assigns a kind to refusals. A refusal matches if all present conditions of status, code and message hold.
 */
export interface ErrorRow {
  readonly status?: readonly number[];
  readonly code?: readonly string[];
  readonly message?: RegExp;
  readonly kind: DriverErrorKind;
  /** The action that a user or operator must take; appended to the message. */
  readonly remedy?: string;
  /**
   * Delay until the call is repeated, milliseconds; default for kind Throttled: 60,000. After a refusal by the rate limit
   * (status 429, or `rateLimit`), a delay in the headers of the answer overrides it.
   */
  readonly retryAfterMs?: number;
  /** The rate limit of the credential was exceeded: no request is made until the delay is over, as after status 429. */
  readonly rateLimit?: boolean;
  /** The maximum that was reached, such as the number of volumes of one server. */
  readonly limit?: number;
  /** Whether the call may succeed in another zone or on another node. */
  readonly retryElsewhere?: boolean;
  /** The publication that has the texts or codes of this row. */
  readonly source: string;
  /** A refusal that matches this row and no earlier one, for the test of the table. */
  readonly example: Refusal;
}

function holds({ status, code, message }: ErrorRow, refusal: Refusal): boolean {
  return (
    (status === undefined || status.includes(refusal.status)) &&
    (code === undefined || code.includes(refusal.code)) &&
    (message === undefined || message.test(refusal.message))
  );
}

/** Returns the first row that matches a refusal; undefined if none does. */
export function rowOf(rows: readonly ErrorRow[], refusal: Refusal): ErrorRow | undefined {
  return rows.find((row) => holds(row, refusal));
}

/** Returns the kind of a refusal that matches no row. */
export function kindByStatus(status: number): DriverErrorKind {
  switch (status) {
    case 400:
    case 422:
      return 'InvalidParameters';
    case 401:
      return 'CredentialsRejected';
    case 403:
      return 'PermissionDenied';
    case 404:
    case 410:
      return 'NotFound';
    case 408:
    case 425:
      return 'Unavailable';
    case 409:
      return 'InUse';
    case 429:
      return 'Throttled';
    default:
      return status >= 500 ? 'Unavailable' : 'Internal';
  }
}
