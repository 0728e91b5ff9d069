import type { StatusCode } from '../../base/index.js';
import { isJsonObject, type JsonObject, textOf } from '../../rpc/index.js';
import type { ServedKind } from '../api/served-kind.js';
import type { RecordedAccess } from '../api/call.js';
import type { ExposedKinds } from './exposed-kinds.js';
import { operationVerb } from './object-operations.js';

/** Maximum entries of a refused set, and of the reads of an accepted one. */
const examplesMax = 5;

/**
 * Returns the audit entries of a set of operations. An accepted set has an entry for each written object and verb;
 * admission bounds their number. A refused set has entries for its first operations only, because its caller may have
 * no rights. Every entry has the number of operations.
 */
function recordedSet(
  items: readonly unknown[],
  verb: string,
  code: StatusCode,
  accessOf: (item: JsonObject) => RecordedAccess,
): readonly RecordedAccess[] {
  const operations = items.length;
  if (code !== 'OK') {
    const first = items.slice(0, examplesMax).filter(isJsonObject).map(accessOf);
    const none = [{ resource: '', verb, namespace: '', name: '' }];
    return (first.length > 0 ? first : none).map((access) => ({ ...access, operations }));
  }
  const reported = new Map<string, RecordedAccess>();
  let reads = 0;
  for (const access of items.filter(isJsonObject).map(accessOf)) {
    const isRead = access.verb === 'get' || access.verb === 'list';
    if (isRead && (reads += 1) > examplesMax) continue;
    const { resource, namespace, name } = access;
    const id = JSON.stringify([access.verb, resource, namespace, name]);
    reported.set(id, { ...access, operations });
  }
  return [...reported.values()];
}

function itemsOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}

/** The audit records of a transaction of ObjectService. */
export function recordedOperations(
  kinds: ExposedKinds,
  request: JsonObject,
  code: StatusCode,
): readonly RecordedAccess[] {
  const method = 'transact';
  return recordedSet(itemsOf(request.operations), method, code, (operation) => {
    const plural = kinds.find(textOf(operation, 'kind'))?.kind.plural ?? '';
    const { resource, verb } = operationVerb(plural, operation.type);
    return {
      resource,
      verb: verb || method,
      namespace: textOf(operation, 'namespace'),
      name: textOf(operation, 'name'),
    };
  });
}

/** The audit records of a cast. */
export function recordedObjects(
  served: ReadonlyMap<string, ServedKind>,
  request: JsonObject,
  code: StatusCode,
): readonly RecordedAccess[] {
  return recordedSet(itemsOf(request.objects), 'cast', code, (item) => {
    const object = isJsonObject(item.object) ? item.object : {};
    const kind = served.get(textOf(item, 'kind'))?.kind;
    return {
      resource: kind?.plural ?? '',
      verb: 'cast',
      namespace: kind?.scope === 'Cluster' ? '' : textOf(object, 'namespace') || 'default',
      name: textOf(object, 'name'),
    };
  });
}
