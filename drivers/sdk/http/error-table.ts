import type { DriverErrorKind } from '../contract/errors.js';

/** The refusal of a call by a provider. */
export interface Refusal {
  readonly status: number;
  /** The provider's code, in lower case as documented; empty without one. */
  readonly code: string;
  readonly message: string;
}

/** One rule that gives a refusal its kind. All present conditions must hold. */
export interface ErrorRow {
  readonly status?: readonly number[];
  readonly code?: readonly string[];
  readonly message?: RegExp;
  readonly kind: DriverErrorKind;
  /** What a person does about it. */
  readonly remedy?: string;
  /** Nothing was done, and a repetition soon succeeds: the call answers Pending. */
  readonly retryAfterMs?: number;
  /** The limit that was reached, such as volumes of one server. */
  readonly limit?: number;
  /** Another zone or node may have what this one lacks. */
  readonly retryElsewhere?: boolean;
  /** Where the texts or codes of this row were seen. */
  readonly source: string;
  /** A refusal that this row is for, for the test of the table. */
  readonly example: Refusal;
}

function holds({ status, code, message }: ErrorRow, refusal: Refusal): boolean {
  return (
    (status === undefined || status.includes(refusal.status)) &&
    (code === undefined || code.includes(refusal.code)) &&
    (message === undefined || message.test(refusal.message))
  );
}

/** The first row that fits. */
export function rowOf(rows: readonly ErrorRow[], refusal: Refusal): ErrorRow | undefined {
  return rows.find((row) => holds(row, refusal));
}

/** The kind of a refusal that no row names. */
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
