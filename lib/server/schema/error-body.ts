import { statusCodes, StatusError } from '../../base/index.js';

/** The body of a REST error. */
export interface ErrorBody {
  readonly code: number;
  /** UPPER_SNAKE_CASE name of the code. */
  readonly status: string;
  readonly message: string;
  readonly reason: string;
  readonly details: readonly object[];
  readonly requestId: string;
}

/**
 * The error for clients. The text of an error other than StatusError may contain anything, so it is only in the log;
 * for REST, the line there has the request id.
 */
export function publicError(thrown: unknown): StatusError {
  if (thrown instanceof StatusError) return thrown;
  return new StatusError({
    code: 'Internal',
    reason: 'InternalError',
    message: 'the server failed to handle this request; its log has the cause',
    cause: thrown,
  });
}

/** UPPER_SNAKE_CASE name of a code. */
export function statusName(code: string): string {
  return code.replaceAll(/(?<=[a-z])(?=[A-Z])/g, '_').toUpperCase();
}

/** The error as a REST body. */
export function errorBody(error: StatusError, requestId: string): ErrorBody {
  const details: object[] = [];
  if (error.violations.length > 0)
    details.push({
      '@type': 'type.googleapis.com/google.rpc.BadRequest',
      fieldViolations: error.violations,
    });
  if (error.resource) {
    const { kind, namespace, name } = error.resource;
    const resourceName = namespace ? `${namespace}/${name}` : name;
    details.push({
      '@type': 'type.googleapis.com/google.rpc.ResourceInfo',
      resourceType: kind,
      resourceName,
    });
  }
  if (error.retryAfterMs !== undefined)
    details.push({
      '@type': 'type.googleapis.com/google.rpc.RetryInfo',
      retryDelay: `${error.retryAfterMs / 1_000}s`,
    });
  return {
    code: statusCodes[error.code],
    status: statusName(error.code),
    message: error.message,
    reason: error.reason,
    details,
    requestId,
  };
}

/** The error in the form of RFC 9457, with the fields of {@link errorBody} in addition to the standard ones. */
export function problemBody(error: StatusError, requestId: string, status: number): object {
  const { code, message, reason, details } = errorBody(error, requestId);
  return {
    type: 'about:blank',
    title: reason,
    status,
    detail: message,
    instance: `urn:uuid:${requestId}`,
    code,
    reason,
    details,
    requestId,
  };
}
