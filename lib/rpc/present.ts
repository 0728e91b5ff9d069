import { type DescField, type DescMessage, ScalarType } from '@bufbuild/protobuf';
import { FeatureSet_FieldPresence } from '@bufbuild/protobuf/wkt';
import { isJsonObject, type JsonObject } from './json.js';
import { isJsonMessage } from './json-form.js';
import { isJsNumber } from './options.js';

/**
 * A JSON object in the form of answers. Fields are in the order of the schema, and stored fields that the schema does
 * not have are omitted. Absent lists, maps and scalars without presence get their zero value; absent enums stay absent.
 */
export function present(message: DescMessage, json: JsonObject): JsonObject {
  if (isJsonMessage(message)) return json;
  const shown: Record<string, unknown> = {};
  for (const field of message.fields) {
    const value = presentField(field, json[field.jsonName]);
    if (value !== undefined) shown[field.jsonName] = value;
  }
  return shown;
}

function presentField(field: DescField, value: unknown): unknown {
  switch (field.fieldKind) {
    case 'message':
      return presentMessage(field.message, value);
    case 'list':
      if (!Array.isArray(value)) return [];
      if (field.listKind !== 'message') return value;
      return value.map((item: unknown) => presentItem(field.message, item));
    case 'map':
      if (!isJsonObject(value)) return {};
      if (field.mapKind !== 'message') return value;
      return Object.fromEntries(
        Object.entries(value).map(([key, item]) => [key, presentItem(field.message, item)]),
      );
    case 'enum':
      return value;
    case 'scalar':
      return value ?? (hasPresence(field) ? undefined : zeroOf(field));
  }
}

/** The value of a message field; undefined if it does not have the form of the message. Free JSON is unchanged. */
function presentMessage(message: DescMessage, value: unknown): unknown {
  if (message.typeName === 'google.protobuf.Value') return value;
  if (message.typeName === 'google.protobuf.ListValue')
    return Array.isArray(value) ? value : undefined;
  return isJsonObject(value) ? present(message, value) : undefined;
}

function presentItem(message: DescMessage, item: unknown): unknown {
  return presentMessage(message, item) ?? item;
}

/** True for a field with presence: a message, an optional field or a member of a oneof. */
export function hasPresence(field: DescField): boolean {
  return field.presence !== FeatureSet_FieldPresence.IMPLICIT;
}

function zeroOf(field: DescField & { fieldKind: 'scalar' }): unknown {
  switch (field.scalar) {
    case ScalarType.BOOL:
      return false;
    case ScalarType.STRING:
    case ScalarType.BYTES:
      return '';
    case ScalarType.INT64:
    case ScalarType.SINT64:
    case ScalarType.SFIXED64:
    case ScalarType.UINT64:
    case ScalarType.FIXED64:
      // In proto3 JSON a 64-bit integer is a string, unless the field has `jstype = JS_NUMBER`.
      return isJsNumber(field) ? 0 : '0';
    default:
      return 0;
  }
}
