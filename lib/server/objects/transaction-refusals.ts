import { limits, StatusError } from '../../base/index.js';
import { type ApiObject, jsonEqual } from '../../object/index.js';
import type { JsonObject } from '../../rpc/index.js';
import type { GivenObjectOperation } from './object-operations.js';

/**
 * The error for a transaction whose answer would have more characters than `limits.transactionAnswerCharactersMax`.
 * @param count number of operations up to the one that exceeds it
 */
export function answerTooLarge(count: number): StatusError {
  return new StatusError({
    code: 'InvalidArgument',
    reason: 'TransactionTooLarge',
    message: `the objects of the first ${count} operations are more than ${limits.transactionAnswerCharactersMax} characters, which is the maximum of the answer to a transaction; split it`,
  });
}

/** Adds the position of the operation to an error. */
export function located(error: unknown, at: number): unknown {
  if (!(error instanceof StatusError)) return error;
  const { code, reason, message, violations, resource, retryAfterMs } = error;
  const where = `operations[${at}]`;
  return new StatusError({
    code,
    reason,
    message: `${where}: ${message}`,
    violations: violations.map((violation) => ({
      ...violation,
      field: violation.field.startsWith(where)
        ? violation.field
        : `${where}.object.${violation.field}`,
    })),
    ...(resource ? { resource } : {}),
    ...(retryAfterMs === undefined ? {} : { retryAfterMs }),
    cause: error,
  });
}

/**
 * Checks that an operation changes only finalizers, because the kind's own service has no Update. Controllers in other
 * processes need finalizers to release its objects.
 * @param before the stored object
 * @param shown the same object in the form of the API
 * @throws StatusError Unimplemented that names the other fields that the operation would change
 */
export function requireFinalizersOnly(
  { served, object, protectedMetadata }: GivenObjectOperation,
  before: ApiObject,
  shown: JsonObject,
): void {
  const left = ['metadata', ...served.kind.statusFields];
  const changed = Object.keys(object).filter(
    (field) => !left.includes(field) && !jsonEqual(object[field], shown[field]),
  );
  for (const field of ['ownerReferences', 'expiresAt'] as const)
    if (field in protectedMetadata && differs(protectedMetadata[field], before.metadata[field]))
      changed.push(`metadata.${field}`);
  if (changed.length === 0) return;
  throw new StatusError({
    code: 'Unimplemented',
    reason: 'Unimplemented',
    message: `Update is not implemented for kind ${served.kind.kind}: only its finalizers can be written, and ${changed.join(', ')} would change too`,
  });
}

/** Whether two values differ; an absent list equals an empty one. */
function differs(given: unknown, stored: unknown): boolean {
  return !jsonEqual(given ?? [], stored ?? []);
}
