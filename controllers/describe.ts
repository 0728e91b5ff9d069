import type { JsonObject } from 'kedge/rpc';
import type { CustomMethod } from 'kedge/server';

/** A line of a description; undefined for a value there is nothing to say of. */
export function field(
  name: string,
  value: string | number | undefined,
): { readonly name: string; readonly value: string } | undefined {
  return value === undefined || value === '' ? undefined : { name, value: String(value) };
}

/** A `:describe` method: needs the verb get on its kind. */
export function describeMethod(
  id: string,
  resource: string,
  call: (request: JsonObject) => Promise<JsonObject>,
): CustomMethod {
  return {
    id,
    access: { type: 'policy', resource, verb: 'get', scope: 'Namespaced' },
    handler: { type: 'unary', call: (_context, request) => call(request) },
  };
}
