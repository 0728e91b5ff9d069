import { type AnyKind, keyFor } from 'kedge';
import { type JsonObject, textOf } from 'kedge/rpc';
import type { ApiParts, CustomMethod } from 'kedge/server';
import { nextRetryText, requestText } from '../cause/index.js';
import { recentEvents } from '../event/recent.js';
import type { DriverOperation } from '../volume/kind.js';

/** A line of a description; undefined for an absent or empty value. */
export function field(
  name: string,
  value: string | number | undefined,
): { readonly name: string; readonly value: string } | undefined {
  return value === undefined || value === '' ? undefined : { name, value: String(value) };
}

/** The last call with its result, and the next retry. */
export function operationFields(
  operation: DriverOperation | undefined,
): readonly ReturnType<typeof field>[] {
  if (!operation) return [];
  const { call, startedAt, outcome, message, calls = [] } = operation;
  return [
    field('Last call', `${call} at ${startedAt}`),
    field('Result', message === '' ? outcome : `${outcome}: ${message}`),
    field('Next retry', nextRetryText(operation)),
    ...calls.map((one) => field('Request', requestText(one))),
  ];
}

/** A `:describe` method: needs the verb get on its kind. Recent events are added. */
export function describeMethod(
  parts: ApiParts,
  kind: AnyKind,
  call: (request: JsonObject) => Promise<JsonObject>,
): CustomMethod {
  const describe = async (request: JsonObject): Promise<JsonObject> => {
    const description = await call(request);
    const key = keyFor(kind, textOf(request, 'namespace'), textOf(request, 'name'));
    const object = await parts.store.get(kind, key);
    return { ...description, events: object ? await recentEvents(parts, object) : [] };
  };
  return {
    id: `${kind.kind}Service.Describe`,
    access: { type: 'policy', resource: kind.plural, verb: 'get', scope: kind.scope },
    handler: { type: 'unary', call: (_context, request) => describe(request) },
  };
}
