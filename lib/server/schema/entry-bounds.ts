import { type FieldViolation, limits } from '../../base/index.js';
import {
  type DescField,
  type DescMessage,
  fieldRules,
  isJsonMessage,
  isJsonObject,
  type JsonObject,
  type SchemaRegistry,
} from '../../rpc/index.js';

/** The description of an unknown field. */
export const unknownField = 'is not a field of this object; check the spelling or remove it';

const none: readonly FieldViolation[] = [];

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
  // Made only if there is a violation: nearly all objects have none.
  let found: FieldViolation[] | undefined;
  for (const desc of message.fields) {
    const value = json[desc.jsonName];
    if (typeof value !== 'object' || value === null) continue;
    const inner = overfullField(schemas, desc, value, path);
    if (inner.length > 0) (found ??= []).push(...inner);
  }
  return found ?? none;
}

function overfullField(
  schemas: SchemaRegistry,
  desc: DescField,
  value: object,
  path: string,
): readonly FieldViolation[] {
  if (desc.fieldKind === 'message')
    return isJsonObject(value) && !isJsonMessage(desc.message)
      ? overfull(schemas, desc.message, value, `${path}${desc.jsonName}.`)
      : none;
  if (desc.fieldKind !== 'map' && desc.fieldKind !== 'list') return none;
  const { maxItems } = fieldRules(schemas.registry, desc);
  // Scalars are cheap to check: a list of them has a limit only if its field declares one.
  const isText = desc.fieldKind === 'list' && desc.message === undefined;
  const most = maxItems ?? (isText ? Infinity : limits.entriesMax);
  const has = Array.isArray(value) ? value.length : Object.keys(value).length;
  if (has <= most) return none;
  const description = `has ${has} entries, and at most ${most} are allowed`;
  return [{ field: `${path}${desc.jsonName}`, description }];
}

function manyUnknown(
  message: DescMessage,
  json: JsonObject,
  path: string,
): readonly FieldViolation[] {
  const names = Object.keys(json);
  if (names.length <= message.fields.length + unknownMax) return none;
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
