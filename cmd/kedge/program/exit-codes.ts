import { type StatusCode, StatusError } from 'kedge/objects';

/** Exit codes of the CLI. */
export const exitCodes = {
  ok: 0,
  error: 1,
  usage: 2,
  auth: 3,
  notFound: 4,
  conflict: 5,
  validation: 6,
  timeout: 7,
} as const;

const byCode: Readonly<Partial<Record<StatusCode, number>>> = {
  Unauthenticated: exitCodes.auth,
  PermissionDenied: exitCodes.auth,
  NotFound: exitCodes.notFound,
  AlreadyExists: exitCodes.conflict,
  Aborted: exitCodes.conflict,
  FailedPrecondition: exitCodes.conflict,
  InvalidArgument: exitCodes.validation,
  DeadlineExceeded: exitCodes.timeout,
};

/** The exit code of an error; of several errors that of the first. */
export function exitCodeOf(error: unknown): number {
  if (error instanceof AggregateError) return exitCodeOf(error.errors[0]);
  return error instanceof StatusError ? (byCode[error.code] ?? exitCodes.error) : exitCodes.error;
}
