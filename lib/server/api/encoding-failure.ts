import { hasCode, StatusError } from '../../base/index.js';
import { isJsonObject, type JsonObject } from '../../rpc/index.js';

/** `default/data` in `items[0].reclaimPolicy`: the innermost object on a path that has a name and metadata. */
function objectAt(answer: JsonObject, path: string): string | undefined {
  let found: string | undefined;
  let value: unknown = answer;
  for (const step of ['', ...path.split(/[.[\]]+/)]) {
    if (step !== '') value = (value as JsonObject)[step];
    if (typeof value !== 'object' || value === null) break;
    if (!isJsonObject(value) || !isJsonObject(value.metadata)) continue;
    if (typeof value.name !== 'string') continue;
    found = typeof value.namespace === 'string' ? `${value.namespace}/${value.name}` : value.name;
  }
  return found;
}

/**
 * The error of an answer that could not be encoded. Refused values are those of the store, so that the request is not at
 * fault; without the value, a client that writes what it read would remove the field.
 */
export function encodingFailure(answer: JsonObject, error: unknown): unknown {
  if (!hasCode(error, 'InvalidArgument')) return error;
  const [first] = error.violations;
  const name = first && objectAt(answer, first.field);
  const subject = name === undefined ? 'the answer' : `"${name}"`;
  return new StatusError({
    code: 'Internal',
    reason: 'UnknownValue',
    message: `${subject} has a value that this server does not know: ${error.message}; read the object over REST, which returns the value, and write it with an allowed one, or use the version of the server that stored it`,
    cause: error,
  });
}
