/**
 * The one error class of Kedge and its closed set of codes.
 * Codes are gRPC's; what callers branch on is `code` and `reason`, never the message.
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

/** One broken rule of one field; `description` names the value, the rule and the way out. */
export interface FieldViolation {
  /** Dotted path from the object's root, list indexes in brackets: `volumes[0].mountPath`. */
  readonly field: string;
  readonly description: string;
}

/** The object an error is about. */
export interface ResourceInfo {
  readonly kind: string;
  readonly namespace?: string;
  readonly name: string;
}

/** What a {@link StatusError} is made of. */
export interface StatusErrorInit {
  readonly code: StatusCode;
  /** CamelCase word that programs branch on, such as `Conflict` or `ValidationFailed`. */
  readonly reason: string;
  readonly message: string;
  readonly violations?: readonly FieldViolation[];
  readonly resource?: ResourceInfo;
  /** When a retry makes sense, in milliseconds. */
  readonly retryAfterMs?: number;
  readonly cause?: unknown;
}

const brand = Symbol.for('kedge.StatusError');

/** Every failure that crosses a module border of Kedge. `instanceof` holds across copies of the package. */
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

  /** The only conversion from an unknown throw: a StatusError stays itself, all else is `Internal` with its cause kept. */
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

/** The message of anything thrown. */
export function messageOf(value: unknown): string {
  return value instanceof Error ? value.message : String(value);
}

/** True when `value` is a StatusError of that code. */
export function hasCode(value: unknown, code: StatusCode): value is StatusError {
  return value instanceof StatusError && value.code === code;
}

function label(resource: ResourceInfo): string {
  const path = resource.namespace ? `${resource.namespace}/${resource.name}` : resource.name;
  return `${resource.kind} "${path}"`;
}

/** The object does not exist. */
export function notFound(resource: ResourceInfo): StatusError {
  return new StatusError({
    code: 'NotFound',
    reason: 'NotFound',
    message: `${label(resource)} does not exist`,
    resource,
  });
}

/** An object of that name exists already. */
export function alreadyExists(resource: ResourceInfo): StatusError {
  return new StatusError({
    code: 'AlreadyExists',
    reason: 'AlreadyExists',
    message: `${label(resource)} exists already`,
    resource,
  });
}

/** A write came with a version that is no longer the stored one (Aborted, reason Conflict). */
export function conflict(resource: ResourceInfo, given: string, stored: string): StatusError {
  return new StatusError({
    code: 'Aborted',
    reason: 'Conflict',
    message: `${label(resource)} was changed since it was read: resourceVersion ${given} given, ${stored} stored; read it again and repeat the change`,
    resource,
  });
}

/** The stored object is not as a guard demands (Aborted, reason Conflict). Let `difference` hold no value. */
export function differs(resource: ResourceInfo, difference: string): StatusError {
  return new StatusError({
    code: 'Aborted',
    reason: 'Conflict',
    message: `${label(resource)} is not as it was read: ${difference}; read it again and decide anew`,
    resource,
  });
}

/** The object that a write was decided on is gone, and another one has its name. */
export function recreated(resource: ResourceInfo, given: string, stored: string): StatusError {
  return new StatusError({
    code: 'Aborted',
    reason: 'Conflict',
    message: `${label(resource)} was deleted and created anew since it was read: uid ${given} given, ${stored} stored; read it again and decide anew`,
    resource,
  });
}

/** The broken rules that a refusal tells: it gets no longer with each one more. */
function bounded(violations: readonly FieldViolation[]): readonly FieldViolation[] {
  const more = violations.length - limits.violationsMax;
  if (more <= 0) return violations;
  const rest = { field: '(object)', description: `and ${more} more that are not listed` };
  return [...violations.slice(0, limits.violationsMax), rest];
}

/** All broken rules of one write at once; of very many the first ones. */
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

/** The state of the system does not allow the operation. */
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

/** Marks a branch that the types rule out; throws when reached all the same. */
export function assertNever(value: never): never {
  throw new TypeError(`unexpected value: ${JSON.stringify(value)}`);
}
