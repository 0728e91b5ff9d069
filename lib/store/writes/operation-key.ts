import type { ResourceInfo } from '../../base/index.js';
import { type AnyKind, keyFor, type ObjectKey } from '../../object/index.js';
import type { ObjectOperation } from '../contract/operations.js';

/** The kind and the key of an object, for errors. */
export function resourceOf(kind: AnyKind, key: ObjectKey): ResourceInfo {
  return { kind: kind.kind, ...key };
}

/** The key of the object of an operation. */
export function keyOfOperation(operation: ObjectOperation): ObjectKey {
  if ('key' in operation) return operation.key;
  return keyFor(operation.kind, operation.object.namespace, operation.object.name);
}
