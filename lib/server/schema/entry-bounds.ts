import { type FieldViolation, limits } from '../../base/index.js';
import {
  type DescMessage,
  fieldRules,
  isJsonMessage,
  isJsonObject,
  type JsonObject,
  type SchemaRegistry,
} from '../../rpc/index.js';

/** The description of an unknown field. */
export const unknownField = 'is not a field of this object; check the spelling or remove it';

/** Maximum number of reported unknown fields per object. An object with more is not checked further. */
const unknownMax = 100;

/**
 * Returns the violations of entry limits in an object and its nested objects, except the items of lists and maps: maps
 * and lists with too many entries, and objects with very many unknown fields. Call this function before any code
 * iterates over all entries, because checking each of them may take long.
 */
export function overfull(
  schemas: SchemaRegistry,
  message: DescMessage,
  json: JsonObject,
  path = '',
): readonly FieldViolation[] {
  const unknown = manyUnknown(message, json, path);
  if (unknown.length > 0) return unknown;
  return message.fields.flatMap((desc) => {
    const value = json[desc.jsonName];
    if (typeof value !== 'object' || value === null) return [];
    const field = `${path}${desc.jsonName}`;
    if (desc.fieldKind === 'message')
      return isJsonObject(value) && !isJsonMessage(desc.message)
        ? overfull(schemas, desc.message, value, `${field}.`)
        : [];
    if (desc.fieldKind !== 'map' && desc.fieldKind !== 'list') return [];
    const { maxItems } = fieldRules(schemas.registry, desc);
    // Scalars are cheap to check: a list of them has a limit only if its field declares one.
    const isText = desc.fieldKind === 'list' && desc.message === undefined;
    const most = maxItems ?? (isText ? Infinity : limits.entriesMax);
    const has = Array.isArray(value) ? value.length : Object.keys(value).length;
    return has > most
      ? [{ field, description: `has ${has} entries, and at most ${most} are allowed` }]
      : [];
  });
}

function manyUnknown(
  message: DescMessage,
  json: JsonObject,
  path: string,
): readonly FieldViolation[] {
  const names = Object.keys(json);
  if (names.length <= message.fields.length + unknownMax) return [];
  const known = new Set(message.fields.map(({ jsonName }) => jsonName));
  const unknown = names.filter((name) => !known.has(name));
  const more = unknown.length - unknownMax;
  return [
    ...unknown
      .slice(0, unknownMax)
      .map((name) => ({ field: `${path}${name}`, description: unknownField })),
    { field: '(object)', description: `and ${more} more that are not listed` },
  ];
}
