import { type DescField, type DescMessage, ScalarType } from '@bufbuild/protobuf';
import { isJsonObject } from './json.js';
import type { JsonObject } from './schema-registry.js';

/**
 * A JSON object as answers show it: fields in the order of the schema, those the schema does not
 * have left out (what is stored but not told stays untold), and fields without presence always
 * there with their zero value (design.md section 12).
 */
export function present(message: DescMessage, json: JsonObject): JsonObject {
  // google.protobuf.Struct is free-form JSON.
  if (message.typeName === 'google.protobuf.Struct') return json;
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
      return isJsonObject(value) ? present(field.message, value) : undefined;
    case 'list':
      if (!Array.isArray(value)) return [];
      if (field.listKind !== 'message') return value;
      return value.map((item: unknown) =>
        isJsonObject(item) ? present(field.message, item) : item,
      );
    case 'map':
      return isJsonObject(value) ? value : {};
    case 'enum':
      return value;
    case 'scalar':
      return value ?? (field.proto.proto3Optional ? undefined : zeroOf(field.scalar));
  }
}

function zeroOf(scalar: ScalarType): unknown {
  switch (scalar) {
    case ScalarType.BOOL:
      return false;
    case ScalarType.STRING:
    case ScalarType.BYTES:
      return '';
    case ScalarType.INT64:
    case ScalarType.UINT64:
      return '0'; // proto3 JSON spells 64-bit numbers as strings
    default:
      return 0;
  }
}
