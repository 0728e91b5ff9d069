import type { JsonObject } from 'kedge/rpc';
import type { CustomMethod } from 'kedge/server';
import type { DriverOperation } from './kinds/index.js';

/** A line of a description; undefined for a value there is nothing to say of. */
export function field(
  name: string,
  value: string | number | undefined,
): { readonly name: string; readonly value: string } | undefined {
  return value === undefined || value === '' ? undefined : { name, value: String(value) };
}

/** Which call was made last, with what answer, and when the next try is. */
export function operationFields(
  operation: DriverOperation | undefined,
): readonly ReturnType<typeof field>[] {
  if (!operation) return [];
  const { call, startedAt, outcome, message, nextTryAt } = operation;
  return [
    field('Last call', `${call} at ${startedAt}`),
    field('Its answer', message === '' ? outcome : `${outcome}: ${message}`),
    field('Next try', nextTryAt || (outcome === 'Succeeded' ? 'none is needed' : 'not by itself')),
  ];
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
