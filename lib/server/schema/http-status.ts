import type { StatusCode } from '../../base/index.js';

/** The REST status of each gRPC code. */
export const httpStatuses = {
  OK: 200,
  Cancelled: 499,
  Unknown: 500,
  InvalidArgument: 400,
  DeadlineExceeded: 504,
  NotFound: 404,
  AlreadyExists: 409,
  PermissionDenied: 403,
  ResourceExhausted: 429,
  FailedPrecondition: 412,
  Aborted: 409,
  OutOfRange: 410,
  Unimplemented: 501,
  Internal: 500,
  Unavailable: 503,
  DataLoss: 500,
  Unauthenticated: 401,
} as const satisfies Readonly<Record<StatusCode, number>>;
