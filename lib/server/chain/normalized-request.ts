import { invalid } from '../../base/index.js';
import { type JsonObject, type MethodInfo, textOf } from '../../rpc/index.js';

/**
 * The normalized request for authorization, record and handler. An absent name of a method that takes one becomes
 * empty, and an absent or empty namespace of a namespaced kind becomes `default`.
 * @param scope scope of the method's kind; undefined: the method interprets its request itself
 */
export function normalizedRequest(
  method: MethodInfo,
  request: JsonObject,
  scope: 'Namespaced' | 'Cluster' | undefined,
): JsonObject {
  if (scope === undefined) return request;
  const lacksName = hasText(method, 'name') && typeof request.name !== 'string';
  const named = lacksName ? { ...request, name: '' } : request;
  // In a request about a cluster-scoped kind, `namespace` may be the object itself.
  if (scope === 'Cluster' || textOf(request, 'namespace') !== '') return named;
  return { ...named, namespace: 'default' };
}

/** Checks that a request of a custom method has the name that its path requires. @throws StatusError InvalidArgument */
export function requireName({ standard, route }: MethodInfo, request: JsonObject): void {
  if (standard || !route?.path.includes('{name}') || textOf(request, 'name') !== '') return;
  throw invalid([{ field: 'name', description: 'is required' }]);
}

function hasText({ input }: MethodInfo, name: string): boolean {
  return input.fields.some((field) => field.name === name && field.fieldKind === 'scalar');
}
