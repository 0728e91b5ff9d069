import { alreadyExists, failedPrecondition, invalid, conflict } from '../../base/index.js';
import {
  asObject,
  fieldsOf,
  type AnyKind,
  type ApiObject,
  requireKey,
  requireLookup,
  jsonEqual,
  keyOf,
  keyString,
  type NewObject,
  type ObjectMeta,
} from '../../object/index.js';
import type { ObjectOperation } from '../contract/operations.js';
import { resourceOf, keyOfOperation } from './operation-key.js';
import { requireCurrent, requireGuard } from './preconditions.js';
import { requireAllowedTransition, requireRemovable } from './transitions.js';

/** The metadata that the store sets on a write. */
export interface Stamp {
  readonly revision: number;
  readonly now: string;
  readonly uid: () => string;
}

/**
 * The state after an operation: `object` is the present one, or the last one if the operation removed it. For a check
 * that an object is absent, and for a check of a kind, it is a placeholder with empty metadata.
 */
export interface Applied {
  readonly object: ApiObject;
  readonly exists: boolean;
  readonly changed: boolean;
}

type Fields = Readonly<Record<string, unknown>>;

/** Copies the set spec or status fields of an object, in their order; never its metadata. */
function copyInto(
  target: Record<string, unknown>,
  object: object,
  statusFields: readonly string[],
  part: 'spec' | 'status',
): void {
  const source = object as Fields;
  for (const field in source) {
    if (field === 'metadata' || statusFields.includes(field) !== (part === 'status')) continue;
    const value = source[field];
    if (value !== undefined) target[field] = value;
  }
}

function part(
  object: object,
  statusFields: readonly string[],
  which: 'spec' | 'status',
): Record<string, unknown> {
  const found: Record<string, unknown> = {};
  copyInto(found, object, statusFields, which);
  return found;
}

/** Fills in absent fields of a declared kind. Reads fill in nothing. */
function completed(
  { declaration }: AnyKind,
  values: Record<string, unknown>,
  which: 'spec' | 'status',
): Record<string, unknown> {
  if (!declaration) return values;
  const whole =
    which === 'spec' ? declaration.completeSpec(values) : declaration.completeStatus(values);
  return whole === values ? values : { ...whole };
}

/** Returns metadata without absent fields and empty lists. Empty maps are kept. */
function compact(meta: { [K in keyof ObjectMeta]: ObjectMeta[K] | undefined }): ObjectMeta {
  const out: Record<string, unknown> = {};
  for (const [key, value] of Object.entries(meta)) {
    const empty = value === undefined || (Array.isArray(value) && value.length === 0);
    if (!empty) out[key] = value;
  }
  return out as unknown as ObjectMeta;
}

function requireTime(
  kind: AnyKind,
  object: NewObject<ApiObject>,
  time: string | undefined,
): string | undefined {
  if (time === undefined || Number.isFinite(Date.parse(time))) return time;
  const field = 'metadata.expiresAt';
  throw invalid(
    [{ field, description: `"${time}" is not a time; use RFC 3339, such as 2026-01-01T00:00:00Z` }],
    resourceOf(kind, keyOf(object)),
  );
}

function create(operation: ObjectOperation & { op: 'create' }, stamp: Stamp): Applied {
  const { kind, object } = operation;
  const given = object.metadata;
  const fields: Record<string, unknown> = {};
  copyInto(fields, object, kind.statusFields, 'spec');
  Object.assign(fields, kind.initialStatus);
  copyInto(fields, object, kind.statusFields, 'status');
  const stored = completed(kind, completed(kind, fields, 'spec'), 'status');
  requireAllowedTransition(operation, undefined, stored);
  const metadata: Record<string, unknown> = {
    uid: stamp.uid(),
    resourceVersion: String(stamp.revision),
    generation: 1,
    createdAt: stamp.now,
    updatedAt: stamp.now,
  };
  if (given) {
    requireTime(kind, object, given.expiresAt);
    for (const field of ['expiresAt', 'finalizers', 'ownerReferences', 'annotations'] as const) {
      const value = given[field];
      const empty = value === undefined || (Array.isArray(value) && value.length === 0);
      if (!empty) metadata[field] = value;
    }
  }
  stored.metadata = metadata;
  return { object: asObject(stored), exists: true, changed: true };
}

function update(
  operation: ObjectOperation & { op: 'update' | 'overwrite' },
  current: ApiObject,
  stamp: Stamp,
): Applied {
  const { kind, object } = operation;
  const { statusFields } = kind;
  let spec = completed(kind, part(object, statusFields, 'spec'), 'spec');
  const given: NewObject<ApiObject>['metadata'] = object.metadata ?? {};
  const meta = current.metadata;
  const finalizers = given.finalizers ?? meta.finalizers;
  if (meta.deletionRequestedAt !== undefined) {
    const there = new Set(meta.finalizers);
    const added = finalizers?.filter((finalizer) => !there.has(finalizer)) ?? [];
    if (added.length > 0)
      throw failedPrecondition(
        'Deleting',
        `${kind.kind} "${keyString(keyOfOperation(operation))}" is being deleted: finalizer ${added.join(', ')} can't be added`,
        resourceOf(kind, keyOfOperation(operation)),
      );
  }
  const specChanged = !jsonEqual(spec, part(current, statusFields, 'spec'));
  const next = compact({
    ...meta,
    deletionRequestedAt: meta.deletionRequestedAt,
    expiresAt: requireTime(kind, object, given.expiresAt ?? meta.expiresAt),
    generation: meta.generation + (specChanged ? 1 : 0),
    finalizers,
    ownerReferences: given.ownerReferences ?? meta.ownerReferences,
    annotations: given.annotations ?? meta.annotations,
  });
  if (!specChanged && jsonEqual(next, meta))
    return { object: current, exists: true, changed: false };
  const metadata = { ...next, resourceVersion: String(stamp.revision), updatedAt: stamp.now };
  copyInto(spec, current, statusFields, 'status');
  spec = completed(kind, spec, 'status');
  requireAllowedTransition(operation, fieldsOf(current), spec);
  spec.metadata = metadata;
  const gone = metadata.deletionRequestedAt !== undefined && !metadata.finalizers;
  if (gone) requireRemovable(operation, spec);
  return { object: asObject(spec), exists: !gone, changed: true };
}

function updateStatus(
  operation: ObjectOperation & { op: 'updateStatus' },
  current: ApiObject,
  stamp: Stamp,
): Applied {
  const { statusFields, declaration } = operation.kind;
  const status = operation.status as Fields;
  const given = declaration ? declaration.completeGiven(status) : status;
  let changed = false;
  for (const field of statusFields) {
    if (field in given && !jsonEqual(fieldsOf(current)[field], given[field])) changed = true;
  }
  if (!changed) return { object: current, exists: true, changed: false };
  const object = part(current, statusFields, 'spec');
  for (const field of statusFields) {
    const value = field in given ? given[field] : fieldsOf(current)[field];
    if (value !== undefined) object[field] = value;
  }
  requireAllowedTransition(operation, fieldsOf(current), object);
  object.metadata = {
    ...current.metadata,
    resourceVersion: String(stamp.revision),
    updatedAt: stamp.now,
  };
  return { object: asObject(object), exists: true, changed: true };
}

function remove(operation: ObjectOperation, current: ApiObject, stamp: Stamp): Applied {
  const meta = current.metadata;
  const held = (meta.finalizers?.length ?? 0) > 0;
  if (!held) requireRemovable(operation, fieldsOf(current));
  if (held && meta.deletionRequestedAt !== undefined)
    return { object: current, exists: true, changed: false };
  const metadata: ObjectMeta = {
    ...meta,
    resourceVersion: String(stamp.revision),
    updatedAt: stamp.now,
    // The deletion request changes an object that stays, as in Kubernetes.
    generation: meta.generation + (held ? 1 : 0),
    deletionRequestedAt: meta.deletionRequestedAt ?? stamp.now,
  };
  return { object: { ...current, metadata }, exists: held, changed: true };
}

/**
 * Applies one operation to the current state of its object. Pure.
 * @throws StatusError AlreadyExists, NotFound, Aborted (Conflict), FailedPrecondition, InvalidArgument.
 */
export function applyOperation(
  operation: ObjectOperation,
  current: ApiObject | undefined,
  stamp: Stamp,
): Applied {
  if (operation.op !== 'create')
    requireLookup(operation.kind, keyOfOperation(operation), current && keyOf(current));
  switch (operation.op) {
    case 'create':
      requireKey(operation.kind, keyOf(operation.object));
      if (current !== undefined)
        throw alreadyExists(resourceOf(operation.kind, keyOfOperation(operation)));
      return create(operation, stamp);
    case 'update':
      requireGuard(operation);
      return update(operation, requireCurrent(operation, current, operation.precondition), stamp);
    case 'overwrite':
      return update(operation, requireCurrent(operation, current, undefined), stamp);
    case 'updateStatus':
      return updateStatus(
        operation,
        requireCurrent(operation, current, operation.precondition),
        stamp,
      );
    case 'delete':
      requireGuard(operation);
      return remove(operation, requireCurrent(operation, current, operation.precondition), stamp);
    case 'deleteByName':
      return remove(operation, requireCurrent(operation, current, operation.precondition), stamp);
    case 'check': {
      if (operation.precondition.exists === false) return requireAbsent(operation, current);
      const object = requireCurrent(operation, current, operation.precondition);
      return { object, exists: true, changed: false };
    }
  }
}

function requireAbsent(
  operation: ObjectOperation & { op: 'check' },
  current: ApiObject | undefined,
): Applied {
  const resource = resourceOf(operation.kind, operation.key);
  if (current) throw conflict(resource, 'none', current.metadata.resourceVersion);
  const metadata = { uid: '', resourceVersion: '', generation: 0, createdAt: '', updatedAt: '' };
  return { object: { ...operation.key, metadata }, exists: false, changed: false };
}
