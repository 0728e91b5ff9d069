import { ScalarType } from '@bufbuild/protobuf';
import {
  type DescEnum,
  type DescField,
  type DescMessage,
  fieldRules,
  type FieldRules,
  type SchemaRegistry,
} from '../rpc/index.js';

/** A JSON schema, draft 2020-12 as far as used here. */
export type JsonSchema = { readonly [key: string]: unknown };

/** Names of an enum's values without the zero one, which stands for "not set" and is never shown. */
export function enumNames(desc: DescEnum): readonly string[] {
  return desc.values.filter((value) => value.number !== 0).map((value) => value.name);
}

/** The schema of what clients may send for a message: no unknown fields, output-only ones left out. */
export function inputSchema(schemas: SchemaRegistry, message: DescMessage): JsonSchema {
  if (message.typeName === 'google.protobuf.Struct') return { type: 'object' };
  const properties: Record<string, JsonSchema> = {};
  const required: string[] = [];
  for (const field of message.fields) {
    const rules = fieldRules(schemas.registry, field);
    if (rules.outputOnly) continue;
    properties[field.jsonName] = fieldSchema(schemas, field, rules);
    if (rules.required) required.push(field.jsonName);
  }
  return { type: 'object', properties, required, additionalProperties: false };
}

function fieldSchema(schemas: SchemaRegistry, field: DescField, rules: FieldRules): JsonSchema {
  switch (field.fieldKind) {
    case 'message':
      return inputSchema(schemas, field.message);
    case 'enum':
      return { enum: enumNames(field.enum) };
    case 'map':
      return { type: 'object', additionalProperties: { type: 'string' } };
    case 'list': {
      const item =
        field.listKind === 'message'
          ? inputSchema(schemas, field.message)
          : field.listKind === 'enum'
            ? { enum: enumNames(field.enum) }
            : { type: 'string' };
      return { type: 'array', items: item, ...(rules.required ? { minItems: 1 } : {}) };
    }
    case 'scalar':
      return scalarSchema(field, rules);
  }
}

/** JSON type of a scalar field; 64-bit numbers and bytes are strings in proto3 JSON. */
export function jsonType(
  field: DescField & { fieldKind: 'scalar' },
): 'boolean' | 'integer' | 'number' | 'string' {
  switch (field.scalar) {
    case ScalarType.BOOL:
      return 'boolean';
    case ScalarType.INT32:
    case ScalarType.UINT32:
    case ScalarType.SINT32:
      return 'integer';
    case ScalarType.DOUBLE:
    case ScalarType.FLOAT:
      return 'number';
    default:
      return 'string';
  }
}

/** Schema of a scalar field with its rules. */
export function scalarSchema(
  field: DescField & { fieldKind: 'scalar' },
  rules: FieldRules,
): JsonSchema {
  const type = jsonType(field);
  if (type === 'boolean' || type === 'number') return { type };
  if (type === 'integer') {
    return {
      type,
      minimum: rules.minimum ?? -(2 ** 31),
      maximum: rules.maximum ?? 2 ** 31 - 1,
    };
  }
  return {
    type: 'string',
    ...(rules.format ? { format: rules.format } : {}),
    ...(rules.required ? { minLength: 1 } : {}),
    ...(rules.maxLength === undefined ? {} : { maxLength: rules.maxLength }),
  };
}
