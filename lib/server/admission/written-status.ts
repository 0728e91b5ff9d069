import { invalid } from '../../base/index.js';
import type { DescMessage, JsonObject, SchemaRegistry } from '../../rpc/index.js';
import type { ServedKind } from '../api/served-kind.js';
import type { InputSchemas } from '../schema/input-schemas.js';

/** A status that a controller sends. */
export interface GivenStatus {
  readonly served: ServedKind;
  /** The message of the kind. */
  readonly message: DescMessage;
  readonly object: JsonObject;
  /** The fields of the update mask. */
  readonly mask: readonly string[];
}

/**
 * Returns the status fields that a controller sends. A field of a declared kind that `mask` names and the object lacks
 * becomes empty: protobuf does not transmit empty values.
 * @throws StatusError InvalidArgument for a status field that the message does not have, for values that do not match
 * the message, and for a mask of a declared kind that names another field.
 */
export function statusIn(
  { schemas, inputs }: { readonly schemas: SchemaRegistry; readonly inputs: InputSchemas },
  { served, message, object, mask }: GivenStatus,
): JsonObject {
  const { statusFields, declaration } = served.kind;
  const named = message.fields.map((field) => field.jsonName);
  const names = statusFields.filter((name) => named.includes(name));
  const description = 'is internal to controllers and not a field of the API; omit it';
  const hidden = statusFields
    .filter((name) => !named.includes(name) && Object.hasOwn(object, name))
    .map((field) => ({ field, description }));
  if (hidden.length > 0) throw invalid(hidden);
  const given = declaration ? inputs.cleanStatus(message, object) : object;
  const status = Object.fromEntries(
    names.filter((name) => name in given).map((name) => [name, given[name]]),
  );
  if (declaration) {
    const found = [
      ...mask
        .filter((name) => !names.includes(name))
        .map((name) => ({
          field: 'updateMask',
          description: `${name} is not a status field; use ${names.join(', ') || 'an empty mask'}`,
        })),
      ...inputs.statusViolations(message, names, status),
    ];
    if (found.length > 0) throw invalid(found);
    const emptied: readonly (readonly [string, unknown])[] = mask
      .filter((name) => !(name in status))
      .map((name) => [name, undefined]);
    return declaration.completeGiven({ ...Object.fromEntries(emptied), ...status });
  }
  const problem = schemas.problem(message, status);
  if (problem !== undefined) throw invalid([{ field: 'status', description: problem }]);
  return status;
}
