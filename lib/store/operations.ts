import {
  alreadyExists,
  conflict,
  failedPrecondition,
  notFound,
  type ResourceInfo,
} from '../base/index.js';
import {
  type AnyKind,
  type ApiObject,
  jsonEqual,
  keyFor,
  keyString,
  type NewObject,
  type ObjectKey,
  type ObjectMeta,
} from '../object/index.js';
import type { Operation, Precondition } from './store.js';

/** What the store stamps on a write. */
export interface Stamp {
  readonly revision: number;
  readonly now: string;
  readonly uid: () => string;
}

/** The state after an operation: `object` is the new one, or the last one when it no longer exists. */
export interface Applied {
  readonly object: ApiObject;
  readonly exists: boolean;
  readonly changed: boolean;
}

type Fields = Readonly<Record<string, unknown>>;

function info(kind: AnyKind, key: ObjectKey): ResourceInfo {
  return { kind: kind.kind, ...key };
}

/** The key an operation addresses. */
export function keyOfOperation(operation: Operation): ObjectKey {
  if ('key' in operation) return operation.key;
  return keyFor(operation.kind, operation.object.namespace, operation.object.name);
}

function demand(
  operation: Operation,
  current: ApiObject | undefined,
  precondition: Precondition | undefined,
): ApiObject {
  const resource = info(operation.kind, keyOfOperation(operation));
  if (current === undefined) throw notFound(resource);
  const version = precondition?.resourceVersion;
  if (version !== undefined && version !== current.metadata.resourceVersion)
    throw conflict(resource, version, current.metadata.resourceVersion);
  // Another uid is another object that happens to have the name.
  if (precondition?.uid !== undefined && precondition.uid !== current.metadata.uid)
    throw conflict(resource, `uid ${precondition.uid}`, `uid ${current.metadata.uid}`);
  return current;
}

function pick(object: object, fields: readonly string[]): Record<string, unknown> {
  const source = object as Fields;
  const picked: Record<string, unknown> = {};
  for (const field of fields) if (source[field] !== undefined) picked[field] = source[field];
  return picked;
}

function omit(object: object, fields: readonly string[]): Record<string, unknown> {
  const rest: Record<string, unknown> = {};
  for (const [field, value] of Object.entries(object))
    if (value !== undefined && !fields.includes(field)) rest[field] = value;
  return rest;
}

/** Metadata without the absent optional fields, so that equal objects encode equally. */
function compact(meta: { [K in keyof ObjectMeta]: ObjectMeta[K] | undefined }): ObjectMeta {
  const out: Record<string, unknown> = {};
  for (const [key, value] of Object.entries(meta)) {
    const empty = value === undefined || (Array.isArray(value) && value.length === 0);
    if (!empty) out[key] = value;
  }
  return out as unknown as ObjectMeta;
}

function create(operation: Operation & { op: 'create' }, stamp: Stamp): Applied {
  const { kind, object } = operation;
  const given = object.metadata;
  const metadata = compact({
    uid: stamp.uid(),
    resourceVersion: String(stamp.revision),
    generation: 1,
    createdAt: stamp.now,
    updatedAt: stamp.now,
    deletionRequestedAt: undefined,
    finalizers: given?.finalizers,
    ownerReferences: given?.ownerReferences,
    annotations: given?.annotations,
  });
  const spec = omit(object, ['metadata', ...kind.statusFields]);
  const status = { ...kind.initialStatus, ...pick(object, kind.statusFields) };
  return {
    object: { ...spec, ...status, metadata } as unknown as ApiObject,
    exists: true,
    changed: true,
  };
}

function update(
  operation: Operation & { op: 'update' },
  current: ApiObject,
  stamp: Stamp,
): Applied {
  const { kind, object } = operation;
  const notSpec = ['metadata', ...kind.statusFields];
  const spec = omit(object, notSpec);
  const given: NewObject<ApiObject>['metadata'] = object.metadata ?? {};
  const meta = current.metadata;
  const finalizers = given.finalizers ?? meta.finalizers;
  if (meta.deletionRequestedAt !== undefined) {
    const added = finalizers?.filter((f) => !meta.finalizers?.includes(f)) ?? [];
    if (added.length > 0)
      throw failedPrecondition(
        'Deleting',
        `${kind.kind} "${keyString(keyOfOperation(operation))}" is being deleted: finalizer ${added.join(', ')} can't be added`,
        info(kind, keyOfOperation(operation)),
      );
  }
  const specChanged = !jsonEqual(spec, omit(current, notSpec));
  const next = compact({
    ...meta,
    deletionRequestedAt: meta.deletionRequestedAt,
    generation: meta.generation + (specChanged ? 1 : 0),
    finalizers,
    ownerReferences: given.ownerReferences ?? meta.ownerReferences,
    annotations: given.annotations ?? meta.annotations,
  });
  if (!specChanged && jsonEqual(next, meta))
    return { object: current, exists: true, changed: false };
  const metadata = { ...next, resourceVersion: String(stamp.revision), updatedAt: stamp.now };
  const stored = { ...spec, ...pick(current, kind.statusFields), metadata } as unknown as ApiObject;
  const gone = metadata.deletionRequestedAt !== undefined && !metadata.finalizers;
  return { object: stored, exists: !gone, changed: true };
}

function updateStatus(
  operation: Operation & { op: 'updateStatus' },
  current: ApiObject,
  stamp: Stamp,
): Applied {
  const { kind, status } = operation;
  const given = status as Fields;
  const before = pick(current, kind.statusFields);
  const after = { ...before };
  for (const field of kind.statusFields) if (field in given) after[field] = given[field];
  if (jsonEqual(before, after)) return { object: current, exists: true, changed: false };
  const metadata = {
    ...current.metadata,
    resourceVersion: String(stamp.revision),
    updatedAt: stamp.now,
  };
  const rest = omit(current, ['metadata', ...kind.statusFields]);
  const object = { ...rest, ...omit(after, []), metadata } as unknown as ApiObject;
  return { object, exists: true, changed: true };
}

function remove(current: ApiObject, stamp: Stamp): Applied {
  const meta = current.metadata;
  const held = (meta.finalizers?.length ?? 0) > 0;
  if (held && meta.deletionRequestedAt !== undefined)
    return { object: current, exists: true, changed: false };
  const metadata: ObjectMeta = {
    ...meta,
    resourceVersion: String(stamp.revision),
    updatedAt: stamp.now,
    deletionRequestedAt: meta.deletionRequestedAt ?? stamp.now,
  };
  return { object: { ...current, metadata }, exists: held, changed: true };
}

/**
 * Applies one operation to the current state of its object. Pure.
 * @throws StatusError AlreadyExists, NotFound, Aborted (Conflict), FailedPrecondition.
 */
export function applyOperation(
  operation: Operation,
  current: ApiObject | undefined,
  stamp: Stamp,
): Applied {
  switch (operation.op) {
    case 'create':
      if (current !== undefined)
        throw alreadyExists(info(operation.kind, keyOfOperation(operation)));
      return create(operation, stamp);
    case 'update':
      return update(operation, demand(operation, current, operation.precondition), stamp);
    case 'updateStatus':
      return updateStatus(operation, demand(operation, current, operation.precondition), stamp);
    case 'delete':
      return remove(demand(operation, current, operation.precondition), stamp);
    case 'check': {
      const object = demand(operation, current, operation.precondition);
      return { object, exists: true, changed: false };
    }
  }
}
