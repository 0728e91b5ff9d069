/**
 * The error class of the library, with the codes of gRPC. Callers branch on `code` and `reason`, never on the message.
 */

import { limits } from './limits.js';

/** gRPC status codes by name, with their numbers in the gRPC protocol. */
export const statusCodes = {
  OK: 0,
  Cancelled: 1,
  Unknown: 2,
  InvalidArgument: 3,
  DeadlineExceeded: 4,
  NotFound: 5,
  AlreadyExists: 6,
  PermissionDenied: 7,
  ResourceExhausted: 8,
  FailedPrecondition: 9,
  Aborted: 10,
  OutOfRange: 11,
  Unimplemented: 12,
  Internal: 13,
  Unavailable: 14,
  DataLoss: 15,
  Unauthenticated: 16,
} as const;

/** Name of a gRPC status code. */
export type StatusCode = keyof typeof statusCodes;

/** One violation of a rule by a field; `description` names the value, the rule and the remedy. */
export interface FieldViolation {
  /** Dotted path from the object's root, list indexes in brackets: `bulbs[0].color`. */
  readonly field: string;
  readonly description: string;
}

/** The object that an error is about. */
export interface ResourceInfo {
  readonly kind: string;
  readonly namespace?: string;
  readonly name: string;
}

/** The constructor arguments of a {@link StatusError}. */
export interface StatusErrorInit {
  readonly code: StatusCode;
  /** CamelCase word that programs branch on, such as `Conflict` or `ValidationFailed`. */
  readonly reason: string;
  readonly message: string;
  readonly violations?: readonly FieldViolation[];
  readonly resource?: ResourceInfo;
  /** Time until a retry can succeed, in milliseconds. */
  readonly retryAfterMs?: number;
  readonly cause?: unknown;
}

const brand = Symbol.for('kedge.StatusError');

/**
 * The error class for failures that cross a module boundary of Kedge. `instanceof` works across copies of the package.
 */
export class StatusError extends Error {
  readonly code: StatusCode;
  readonly reason: string;
  readonly violations: readonly FieldViolation[];
  readonly resource: ResourceInfo | undefined;
  readonly retryAfterMs: number | undefined;

  constructor(init: StatusErrorInit) {
    super(init.message, init.cause === undefined ? undefined : { cause: init.cause });
    this.name = 'StatusError';
    this.code = init.code;
    this.reason = init.reason;
    this.violations = init.violations ?? [];
    this.resource = init.resource;
    this.retryAfterMs = init.retryAfterMs;
    Object.defineProperty(this, brand, { value: true });
  }

  static override [Symbol.hasInstance](value: unknown): boolean {
    return typeof value === 'object' && value !== null && brand in value;
  }

  /**
   * Converts a thrown value: a StatusError is returned unchanged, anything else becomes `Internal` with the value as
   * its cause.
   */
  static from(value: unknown): StatusError {
    if (value instanceof StatusError) return value;
    return new StatusError({
      code: 'Internal',
      reason: 'InternalError',
      message: messageOf(value),
      cause: value,
    });
  }
}

/** The message of any thrown value. */
export function messageOf(value: unknown): string {
  return value instanceof Error ? value.message : String(value);
}

/** True if `value` is a StatusError with that code. */
export function hasCode(value: unknown, code: StatusCode): value is StatusError {
  return value instanceof StatusError && value.code === code;
}

function label(resource: ResourceInfo): string {
  const path = resource.namespace ? `${resource.namespace}/${resource.name}` : resource.name;
  return `${resource.kind} "${path}"`;
}

/** Creates the error for an object that does not exist (NotFound). */
export function notFound(resource: ResourceInfo): StatusError {
  return new StatusError({
    code: 'NotFound',
    reason: 'NotFound',
    message: `${label(resource)} does not exist`,
    resource,
  });
}

/** Creates the error for a name that is already in use (AlreadyExists). */
export function alreadyExists(resource: ResourceInfo): StatusError {
  return new StatusError({
    code: 'AlreadyExists',
    reason: 'AlreadyExists',
    message: `${label(resource)} exists already`,
    resource,
  });
}

/** Creates the error for a write whose version differs from the stored one (Aborted, reason Conflict). */
export function conflict(resource: ResourceInfo, given: string, stored: string): StatusError {
  return new StatusError({
    code: 'Aborted',
    reason: 'Conflict',
    message: `${label(resource)} changed since it was read: resourceVersion ${given} given, ${stored} stored; read it again and repeat the change`,
    resource,
  });
}

/**
 * Creates the error for a stored object that does not match a guard (Aborted, reason Conflict). `difference` must not
 * contain values of fields other than `metadata.generation`: they may be secret.
 */
export function differs(resource: ResourceInfo, difference: string): StatusError {
  return new StatusError({
    code: 'Aborted',
    reason: 'Conflict',
    message: `${label(resource)} changed since it was read: ${difference}; read it again and repeat the decision`,
    resource,
  });
}

/** Creates the error for an object that was deleted and recreated since it was read (Aborted, reason Conflict). */
export function recreated(resource: ResourceInfo, given: string, stored: string): StatusError {
  return new StatusError({
    code: 'Aborted',
    reason: 'Conflict',
    message: `${label(resource)} was deleted and recreated since it was read: uid ${given} given, ${stored} stored; read it again and repeat the decision`,
    resource,
  });
}

/** Returns the violations of an error up to the limit, and one more entry with the number of the others. */
function bounded(violations: readonly FieldViolation[]): readonly FieldViolation[] {
  const more = violations.length - limits.violationsMax;
  if (more <= 0) return violations;
  const rest = { field: '(object)', description: `and ${more} more that are not listed` };
  return [...violations.slice(0, limits.violationsMax), rest];
}

/**
 * Creates the error for invalid input (InvalidArgument, reason ValidationFailed) with all violations, up to the limit.
 */
export function invalid(found: readonly FieldViolation[], resource?: ResourceInfo): StatusError {
  const violations = bounded(found);
  const list = violations.map((v) => `${v.field}: ${v.description}`).join('; ');
  return new StatusError({
    code: 'InvalidArgument',
    reason: 'ValidationFailed',
    message: list,
    violations,
    ...(resource ? { resource } : {}),
  });
}

/** Creates the error for an operation that the present state does not allow (FailedPrecondition). */
export function failedPrecondition(
  reason: string,
  message: string,
  resource?: ResourceInfo,
): StatusError {
  return new StatusError({
    code: 'FailedPrecondition',
    reason,
    message,
    ...(resource ? { resource } : {}),
  });
}

/** Marks a branch that the types exclude; throws if it is reached. */
export function assertNever(value: never): never {
  throw new TypeError(`unexpected value: ${JSON.stringify(value)}`);
}
