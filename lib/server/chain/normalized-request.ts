import { invalid } from '../../base/index.js';
import { type JsonObject, type MethodInfo, textOf } from '../../rpc/index.js';

/**
 * The normalized request for authorization, record and handler. Over gRPC an unset field is absent or empty; here
 * namespace and name are texts, and the namespace is resolved.
 * @param scope of what the method acts on; undefined: the method reads its request by itself
 */
export function normalizedRequest(
  method: MethodInfo,
  request: JsonObject,
  scope: 'Namespaced' | 'Cluster' | undefined,
): JsonObject {
  if (scope === undefined) return request;
  const lacksName = hasText(method, 'name') && typeof request.name !== 'string';
  const named = lacksName ? { ...request, name: '' } : request;
  // Of what the cluster has, `namespace` may be the object itself.
  if (scope === 'Cluster' || textOf(request, 'namespace') !== '') return named;
  return { ...named, namespace: 'default' };
}

/** @throws StatusError InvalidArgument where the path of a method names an object and the request does not */
export function demandName({ standard, route }: MethodInfo, request: JsonObject): void {
  if (standard || !route?.path.includes('{name}') || textOf(request, 'name') !== '') return;
  throw invalid([{ field: 'name', description: 'is required' }]);
}

function hasText({ input }: MethodInfo, name: string): boolean {
  return input.fields.some((field) => field.name === name && field.fieldKind === 'scalar');
}
