import {
  conflict,
  differs,
  invalid,
  limits,
  notFound,
  recreated,
  type ResourceInfo,
} from '../../base/index.js';
import {
  isDeleting,
  type ApiObject,
  requireObjectVersion,
  jsonEqual,
  type ObjectVersion,
  requiredUid,
  requiredVersion,
  valueAt,
} from '../../object/index.js';
import type { ObjectOperation, Precondition } from '../contract/operations.js';
import { resourceOf, keyOfOperation } from './operation-key.js';

/** The violation of a precondition with too many fields; undefined if it is valid. */
export function tooManyFields(count: number): string | undefined {
  const { preconditionFieldsMax } = limits;
  if (count <= preconditionFieldsMax) return undefined;
  return `has ${count} fields, and at most ${preconditionFieldsMax} are allowed; compare resourceVersion, or use several checks`;
}

/**
 * Returns the stored object of an operation, if the precondition holds.
 * @throws StatusError NotFound, Aborted (Conflict) for another object or version than in the precondition, and errors
 * of {@link requireState}
 */
export function requireCurrent(
  operation: ObjectOperation,
  current: ApiObject | undefined,
  precondition: Precondition | undefined,
): ApiObject {
  const resource = resourceOf(operation.kind, keyOfOperation(operation));
  if (current === undefined) throw notFound(resource);
  // Another uid means another object of the same name.
  if (precondition?.uid !== undefined && precondition.uid !== current.metadata.uid)
    throw recreated(resource, precondition.uid, current.metadata.uid);
  const version = precondition?.resourceVersion;
  if (version !== undefined && version !== current.metadata.resourceVersion)
    throw conflict(resource, requireObjectVersion(version), current.metadata.resourceVersion);
  if (precondition) requireState(resource, current, precondition);
  return current;
}

/**
 * Checks that an object can have a generation.
 * @throws StatusError InvalidArgument unless it is a whole number, 1 or more
 */
export function requireGeneration(generation: number, resource: ResourceInfo): void {
  if (Number.isSafeInteger(generation) && generation > 0) return;
  const description = `is ${generation}; give the generation of an object that was read, 1 or more`;
  throw invalid([{ field: 'precondition.generation', description }], resource);
}

/**
 * Checks the parts of a precondition other than identity and version.
 * @throws StatusError Aborted (Conflict), InvalidArgument for an impossible generation and for too many fields
 */
export function requireState(
  resource: ResourceInfo,
  current: ApiObject,
  { generation, deleting, fields = {} }: Precondition,
): void {
  const description = tooManyFields(Object.keys(fields).length);
  if (description) throw invalid([{ field: 'precondition.fields', description }], resource);
  const stored = current.metadata.generation;
  if (generation !== undefined) {
    requireGeneration(generation, resource);
    if (generation !== stored)
      throw differs(resource, `generation ${generation} given, ${stored} stored`);
  }
  if (deleting === false && isDeleting(current))
    throw differs(resource, 'its deletion was requested');
  const changed = Object.keys(fields).filter(
    (path) => !jsonEqual(valueAt(current, path), fields[path]),
  );
  if (changed.length > 0)
    throw differs(resource, `the stored values differ in ${changed.join(', ')}`);
}

/** Checks that an operation has its guard, for callers that bypass the types. @throws StatusError InvalidArgument */
export function requireGuard(operation: ObjectOperation & { op: 'update' | 'delete' }): void {
  const given = operation.precondition as Partial<ObjectVersion> | undefined;
  const complete = given?.uid && (operation.op === 'delete' || given.resourceVersion);
  if (complete) return;
  const guarded = { ...keyOfOperation(operation), metadata: given };
  if (operation.op === 'delete') requiredUid(operation.kind, guarded);
  else requiredVersion(operation.kind, guarded);
}
