import { counted, type FieldViolation, invalid, limits, StatusError } from '../../base/index.js';
import { keyFor, type ObjectKey, type ObjectMeta } from '../../object/index.js';
import { isJsonObject, type JsonObject, type StandardVerb, textOf } from '../../rpc/index.js';
import type { ServedKind } from '../api/served-kind.js';
// The store uses this limit too, so that both refuse the same requests.
import { tooManyFields } from '../../store/writes/preconditions.js';
import type { ExposedKinds } from './exposed-kinds.js';
import { type GivenKindCheck, parseKindCheck } from './kind-check-operations.js';
import { rightVerbs } from '../api/right-verbs.js';
import { parseBody } from '../schema/json-body.js';

/** The operation types, with their names on the wire. */
export type OperationType =
  | 'CREATE'
  | 'UPDATE'
  | 'OVERWRITE'
  | 'UPDATE_STATUS'
  | 'DELETE'
  | 'DELETE_BY_NAME'
  | 'CHECK';

const verbs: Readonly<Record<OperationType | 'CHECK_KIND', StandardVerb>> = {
  CREATE: 'Create',
  UPDATE: 'Update',
  OVERWRITE: 'Update',
  UPDATE_STATUS: 'UpdateStatus',
  DELETE: 'Delete',
  DELETE_BY_NAME: 'Delete',
  CHECK: 'Get',
  CHECK_KIND: 'List',
};

/** Guards of an operation as sent by a caller. */
export interface GivenPrecondition {
  readonly resourceVersion: string;
  readonly uid: string;
  readonly absent: boolean;
  readonly fields: ReadonlyMap<string, unknown>;
  /** Required generation of the object; 0 matches any. */
  readonly generation: number;
  readonly notDeleting: boolean;
}

/** Metadata that only callers with the corresponding right may write. */
export type ProtectedMetadata = Partial<
  Pick<ObjectMeta, 'finalizers' | 'ownerReferences' | 'expiresAt'>
>;

/** One operation of a remote transaction, parsed but not validated. */
export type GivenOperation = GivenObjectOperation | GivenKindCheck;

/** An operation on one object. */
export interface GivenObjectOperation {
  readonly type: OperationType;
  readonly served: ServedKind;
  /** As in requests: `default` if none was given, undefined for cluster-scoped kinds. */
  readonly namespace: string | undefined;
  readonly key: ObjectKey;
  /** The object of a creation or replacement, the fields of a status update; else empty. */
  readonly object: JsonObject;
  readonly protectedMetadata: ProtectedMetadata;
  /** True for a replacement if the kind's own service has no Update: then only finalizers can be written. */
  readonly finalizersOnly: boolean;
  readonly precondition: GivenPrecondition;
}

/** The right of each part of {@link ProtectedMetadata}, as a resource below that of the kind. */
export const protectedResources: Readonly<Record<keyof ProtectedMetadata, string>> = {
  finalizers: 'finalizers',
  ownerReferences: 'ownerreferences',
  expiresAt: 'expiry',
};

/** Resource and verb of the right that an operation on a kind needs; the verb is empty for an unknown operation. */
export function operationVerb(
  plural: string,
  type: unknown,
): { readonly resource: string; readonly verb: string } {
  if (!isType(type)) return { resource: plural, verb: '' };
  const resource = type === 'UPDATE_STATUS' ? `${plural}/status` : plural;
  return { resource, verb: rightVerbs[verbs[type]] };
}

function isType(value: unknown): value is keyof typeof verbs {
  return typeof value === 'string' && value in verbs;
}

/**
 * Parses the operations of a request.
 * @throws StatusError InvalidArgument that names the operation and the field, or that there are too many operations
 * (TransactionTooLarge); Unimplemented
 */
export function parseOperations(
  request: JsonObject,
  kinds: ExposedKinds,
): readonly GivenOperation[] {
  const given = Array.isArray(request.operations) ? request.operations.filter(isJsonObject) : [];
  const { transactionOperationsMax, transactionChecksMax } = limits;
  const writes = given.filter(({ type }) => type !== 'CHECK' && type !== 'CHECK_KIND').length;
  const checks = given.length - writes;
  if (writes > transactionOperationsMax || checks > transactionChecksMax)
    throw new StatusError({
      code: 'InvalidArgument',
      reason: 'TransactionTooLarge',
      message: `a transaction has ${counted(writes, 'writing operation')} and ${counted(checks, 'check')}, and at most ${transactionOperationsMax} and ${transactionChecksMax} are allowed; split it`,
    });
  return given.map((operation, at) => parseOperation(operation, `operations[${at}]`, kinds));
}

function parseOperation(given: JsonObject, at: string, kinds: ExposedKinds): GivenOperation {
  const { type } = given;
  if (!isType(type)) {
    const description = `${JSON.stringify(type)} is not a type; use one of ${Object.keys(verbs).join(', ')}`;
    throw invalid([{ field: `${at}.type`, description }]);
  }
  const kind = textOf(given, 'kind');
  const replaces = type === 'UPDATE' || type === 'OVERWRITE';
  const finalizersOnly = replaces && !kinds.offers(kind, 'Update');
  const served = kinds.require(kind, finalizersOnly ? 'Get' : verbs[type], `${at}.kind`);
  if (type === 'CHECK_KIND') return parseKindCheck(given, served, at);
  const name = textOf(given, 'name');
  const violations: FieldViolation[] = [];
  if (name === '') violations.push({ field: `${at}.name`, description: 'is required' });
  const precondition = parsePrecondition(given, type, at, violations);
  const body = type === 'CREATE' || replaces;
  const object = body || type === 'UPDATE_STATUS' ? parseObject(given, at, violations) : {};
  const protectedMetadata = body ? parseProtected(object, `${at}.object`, violations) : {};
  if (violations.length > 0) throw invalid(violations);
  const namespace =
    served.kind.scope === 'Cluster' ? undefined : textOf(given, 'namespace') || 'default';
  return {
    type,
    served,
    namespace,
    key: keyFor(served.kind, namespace, name),
    // Only the precondition guards the operation, not the uid and version in its object.
    object: body ? withoutGuards(object) : object,
    protectedMetadata,
    finalizersOnly,
    precondition,
  };
}

function withoutGuards(object: JsonObject): JsonObject {
  if (!isJsonObject(object.metadata)) return object;
  const { resourceVersion: _version, uid: _uid, ...metadata } = object.metadata;
  return { ...object, metadata };
}

function parseJson(text: string, field: string, violations: FieldViolation[]): unknown {
  try {
    return parseBody(text);
  } catch (error) {
    violations.push({ field, description: (error as Error).message });
    return undefined;
  }
}

function parseObject(given: JsonObject, at: string, violations: FieldViolation[]): JsonObject {
  const field = `${at}.object`;
  const before = violations.length;
  const parsed = parseJson(textOf(given, 'object'), field, violations);
  if (isJsonObject(parsed)) return parsed;
  if (violations.length === before)
    violations.push({ field, description: 'must be the JSON text of an object' });
  return {};
}

function parsePrecondition(
  given: JsonObject,
  type: OperationType,
  at: string,
  violations: FieldViolation[],
): GivenPrecondition {
  const field = `${at}.precondition`;
  const precondition = isJsonObject(given.precondition) ? given.precondition : {};
  const resourceVersion = textOf(precondition, 'resourceVersion');
  const uid = textOf(precondition, 'uid');
  const absent = precondition.absent === true;
  const fields = new Map<string, unknown>();
  const fieldChecks = isJsonObject(precondition.fields) ? Object.entries(precondition.fields) : [];
  const tooMany = tooManyFields(fieldChecks.length);
  if (tooMany) violations.push({ field: `${field}.fields`, description: tooMany });
  else
    for (const [path, text] of fieldChecks) {
      const value =
        text === '' ? undefined : parseJson(String(text), `${field}.fields`, violations);
      fields.set(path, value);
    }
  const guarded = type === 'UPDATE' || type === 'DELETE';
  if (guarded && uid === '')
    violations.push({ field: `${field}.uid`, description: `is required for ${type}` });
  if (type === 'UPDATE' && resourceVersion === '')
    violations.push({ field: `${field}.resourceVersion`, description: 'is required for UPDATE' });
  const generation = typeof precondition.generation === 'number' ? precondition.generation : 0;
  if (generation < 0)
    violations.push({ field: `${field}.generation`, description: `${generation} is below 1` });
  const notDeleting = precondition.notDeleting === true;
  const named = resourceVersion !== '' || uid !== '' || generation !== 0;
  const other = named || notDeleting || fieldChecks.length > 0;
  if (absent && (type !== 'CHECK' || other))
    violations.push({
      field: `${field}.absent`,
      description: 'excludes other fields and is valid only in a CHECK',
    });
  const none = type === 'CREATE' || type === 'OVERWRITE';
  if (none && other)
    violations.push({
      field,
      description: `${type} does not use it; add a CHECK to the transaction`,
    });
  if (type === 'CHECK' && !absent && !other)
    violations.push({
      field,
      description: 'is required: a CHECK without a precondition has no effect',
    });
  return { resourceVersion, uid, absent, fields, generation, notDeleting };
}

function parseProtected(
  object: JsonObject,
  at: string,
  violations: FieldViolation[],
): ProtectedMetadata {
  const { metadata } = object;
  if (!isJsonObject(metadata)) return {};
  const { finalizers, ownerReferences, expiresAt } = metadata;
  const isText = (value: unknown): value is string => typeof value === 'string' && value !== '';
  const check = (ok: boolean, field: string, description: string): void => {
    if (!ok) violations.push({ field: `${at}.metadata.${field}`, description });
  };
  check(
    finalizers === undefined || (Array.isArray(finalizers) && finalizers.every(isText)),
    'finalizers',
    'must be a list of names',
  );
  check(
    ownerReferences === undefined ||
      (Array.isArray(ownerReferences) && ownerReferences.every(isOwnerReference)),
    'ownerReferences',
    'must be a list of {kind, name, uid}',
  );
  check(expiresAt === undefined || isText(expiresAt), 'expiresAt', 'must be an RFC 3339 time');
  return {
    ...(finalizers === undefined ? {} : { finalizers: finalizers as readonly string[] }),
    ...(ownerReferences === undefined
      ? {}
      : { ownerReferences: ownerReferences as NonNullable<ObjectMeta['ownerReferences']> }),
    ...(expiresAt === undefined ? {} : { expiresAt: expiresAt as string }),
  };
}

function isOwnerReference(value: unknown): boolean {
  if (!isJsonObject(value)) return false;
  const names = ['kind', 'name', 'uid'];
  const known = Object.keys(value).every((name) => names.includes(name));
  return known && names.every((name) => typeof value[name] === 'string' && value[name] !== '');
}
