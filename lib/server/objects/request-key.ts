import { type AnyKind, keyFor, type ObjectKey } from '../../object/index.js';
import { type JsonObject, textOf } from '../../rpc/index.js';
import type { ServedKind } from '../api/served-kind.js';

/** The namespace of a request: `-` for all, `default` if none is given, undefined for a cluster-scoped kind. */
export function requestNamespace(kind: AnyKind, request: JsonObject): string | undefined {
  if (kind.scope === 'Cluster') return undefined;
  const namespace = textOf(request, 'namespace');
  return namespace === '' ? 'default' : namespace;
}

/** The key of the object that a request names. */
export function requestKey(served: ServedKind, request: JsonObject): ObjectKey {
  const namespace = requestNamespace(served.kind, request);
  return keyFor(served.kind, namespace, textOf(request, 'name'));
}
