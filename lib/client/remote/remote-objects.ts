import type { ResourceInfo } from '../../base/index.js';
import {
  type ApiObject,
  deepFreeze,
  keyOf,
  type ObjectKey,
  type ObjectVersion,
  requiredUid,
  requiredVersion,
  requireSendable,
} from '../../object/index.js';
import { isJsonObject, type JsonObject, textOf } from '../../rpc/index.js';
import type {
  KindCheck,
  ObjectOperation,
  Operation,
  OperationResult,
  Precondition,
} from '../../store/index.js';
// This module has the validation of every store. It is imported directly, so that a client does not load a store.
import { requireKnownOperation } from '../../store/writes/known-operation.js';
import { keyOfOperation } from '../../store/writes/operation-key.js';
import { requireIndexSelection } from '../../store/writes/kind-checks.js';
import { requireGeneration } from '../../store/writes/preconditions.js';

/** Metadata that a store omits when empty, but the API always shows. */
const optionalMetadata = ['finalizers', 'ownerReferences', 'annotations'] as const;

/** Parses an object from its JSON on the wire, frozen and in stored form. */
export function objectFrom<T extends ApiObject>(text: string): T {
  const object = JSON.parse(text) as T;
  const metadata: Record<string, unknown> = { ...object.metadata };
  for (const field of optionalMetadata)
    if (Object.keys(metadata[field] ?? {}).length === 0) delete metadata[field];
  return deepFreeze({ ...object, metadata });
}

function preconditionOf(
  precondition: Precondition | undefined,
  resource: ResourceInfo,
): JsonObject {
  if (!precondition) return {};
  const { resourceVersion = '', uid = '', exists, fields = {} } = precondition;
  const { generation, deleting } = precondition;
  if (generation !== undefined) requireGeneration(generation, resource);
  const texts = Object.entries(fields).map(([path, value]) => [path, JSON.stringify(value) ?? '']);
  return {
    precondition: {
      resourceVersion,
      uid,
      absent: exists === false,
      fields: Object.fromEntries(texts) as JsonObject,
      generation: generation ?? 0,
      notDeleting: deleting === false,
    },
  };
}

const types: Readonly<Record<Operation['op'], string>> = {
  create: 'CREATE',
  update: 'UPDATE',
  overwrite: 'OVERWRITE',
  updateStatus: 'UPDATE_STATUS',
  delete: 'DELETE',
  deleteByName: 'DELETE_BY_NAME',
  check: 'CHECK',
  checkKind: 'CHECK_KIND',
};

/**
 * An operation in the form of the object service.
 * @throws StatusError InvalidArgument for an update or deletion without its guard
 */
export function wireOperation(operation: Operation, at: number): JsonObject {
  requireKnownOperation(operation, at);
  if (operation.op === 'checkKind') return wireKindCheck(operation);
  const { op, kind } = operation;
  const key = keyOfOperation(operation);
  requireSendable(kind, op === 'create' ? keyOf(operation.object) : key);
  requireGuard(operation, key);
  const content =
    op === 'updateStatus' ? operation.status : 'object' in operation ? operation.object : undefined;
  return {
    type: types[op],
    kind: kind.kind,
    namespace: key.namespace ?? '',
    name: key.name,
    ...(content === undefined ? {} : { object: JSON.stringify(content) }),
    ...preconditionOf('precondition' in operation ? operation.precondition : undefined, {
      kind: kind.kind,
      ...key,
    }),
  };
}

/** Checks the guard of an operation at run time, for callers that bypass the types. */
function requireGuard(operation: ObjectOperation, key: ObjectKey): void {
  if (operation.op !== 'update' && operation.op !== 'delete') return;
  const given = { ...key, metadata: operation.precondition as Partial<ObjectVersion> | undefined };
  if (operation.op === 'delete') requiredUid(operation.kind, given);
  else requiredVersion(operation.kind, given);
}

function wireKindCheck(check: KindCheck): JsonObject {
  const { kind, revision, index = '', value = '' } = check;
  requireIndexSelection(kind, check);
  const kindCheck = { revision: String(revision), index, value };
  return { type: types.checkKind, kind: kind.kind, kindCheck };
}

/** Converts the result of an operation from the object service. Of an object that was not sent, only the key is set. */
export function resultFrom(operation: Operation, given: unknown): OperationResult {
  const result = isJsonObject(given) ? given : {};
  const text = textOf(result, 'object');
  const exists = result.exists === true;
  const changed = result.changed === true;
  if (text !== '') return { object: objectFrom(text), exists, changed };
  const key = operation.op === 'checkKind' ? { name: '' } : keyOfOperation(operation);
  const metadata = { uid: '', resourceVersion: '', generation: 0, createdAt: '', updatedAt: '' };
  return { object: deepFreeze({ ...key, metadata }), exists, changed };
}
