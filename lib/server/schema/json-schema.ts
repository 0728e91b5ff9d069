import { type DescField, ScalarType } from '@bufbuild/protobuf';
import { limits } from '../../base/index.js';
import {
  type DescEnum,
  type DescMessage,
  fieldRules,
  type FieldRules,
  isJsonMessage,
  type SchemaRegistry,
} from '../../rpc/index.js';

/** A JSON schema: the used part of draft 2020-12. */
export type JsonSchema = { readonly [key: string]: unknown };

/** Returns the schema of the message in a field. */
export type MessageSchema = (message: DescMessage) => JsonSchema;

/** Names of an enum's values without the zero value, which means "not set" and is never shown. */
export function enumNames(desc: DescEnum): readonly string[] {
  return desc.values.filter((value) => value.number !== 0).map((value) => value.name);
}

/** Selects the fields of a schema, each with its rules; false omits one. */
type Choose = (field: DescField, rules: FieldRules) => boolean;

/** The schema of input of clients for a message: no unknown fields, no output-only ones. */
export function inputSchema(schemas: SchemaRegistry, message: DescMessage): JsonSchema {
  return objectSchema(schemas, message, (_field, { outputOnly }) => !outputOnly);
}

/** The schema of some fields of a message, as controllers write them: none of them required. */
export function statusSchema(
  schemas: SchemaRegistry,
  message: DescMessage,
  names: readonly string[],
): JsonSchema {
  const schema = objectSchema(schemas, message, ({ jsonName }) => names.includes(jsonName));
  return { ...schema, required: [] };
}

function objectSchema(schemas: SchemaRegistry, message: DescMessage, choose: Choose): JsonSchema {
  const anyJson = jsonSchema(message);
  if (anyJson) return anyJson;
  const properties: Record<string, JsonSchema> = {};
  const required: string[] = [];
  for (const field of message.fields) {
    const rules = fieldRules(schemas.registry, field);
    if (!choose(field, rules)) continue;
    const schema = fieldSchema(field, rules, (inner) => inputSchema(schemas, inner));
    properties[field.jsonName] = rules.sensitive ? sensitive(schema) : schema;
    if (rules.required) required.push(field.jsonName);
  }
  return { type: 'object', properties, required, additionalProperties: false };
}

/** The schema of a message that represents JSON; undefined for others. */
export function jsonSchema(message: DescMessage): JsonSchema | undefined {
  if (message.typeName === 'google.protobuf.Struct') return { type: 'object' };
  return isJsonMessage(message) ? {} : undefined;
}

/** The schema of a field, with its rules. */
export function fieldSchema(
  field: DescField,
  rules: FieldRules,
  messageSchema: MessageSchema,
): JsonSchema {
  switch (field.fieldKind) {
    case 'message':
      return messageSchema(field.message);
    case 'enum':
      return { type: 'string', enum: enumNames(field.enum) };
    case 'map':
      return {
        type: 'object',
        additionalProperties: itemSchema(field, field.mapKind, rules, messageSchema),
        maxProperties: rules.maxItems ?? limits.entriesMax,
      };
    case 'list':
      return {
        type: 'array',
        items: itemSchema(field, field.listKind, rules, messageSchema),
        ...(rules.required ? { minItems: 1 } : {}),
        ...(rules.maxItems === undefined ? {} : { maxItems: rules.maxItems }),
      };
    case 'scalar':
      return scalarSchema(field.scalar, rules);
  }
}

/** Marks values that messages must not quote; the keyword is registered with Ajv. */
export const sensitiveKeyword = 'x-sensitive';

/** A schema with all its parts marked as sensitive. */
function sensitive(schema: JsonSchema): JsonSchema {
  const inner = Object.entries(schema).map(([key, value]): [string, unknown] => {
    if (key === 'properties')
      return [
        key,
        Object.fromEntries(
          Object.entries(value as Record<string, JsonSchema>).map(([n, s]) => [n, sensitive(s)]),
        ),
      ];
    const isSchema = key === 'items' || (key === 'additionalProperties' && value !== false);
    return [key, isSchema ? sensitive(value as JsonSchema) : value];
  });
  return { ...Object.fromEntries(inner), [sensitiveKeyword]: true };
}

/** Returns the schema of the items of a list or map. The rules of its field apply to scalars, except `required`. */
function itemSchema(
  field: DescField & { fieldKind: 'list' | 'map' },
  kind: 'scalar' | 'enum' | 'message',
  rules: FieldRules,
  messageSchema: MessageSchema,
): JsonSchema {
  if (kind === 'message' && field.message) return messageSchema(field.message);
  if (kind === 'enum' && field.enum) return { type: 'string', enum: enumNames(field.enum) };
  return scalarSchema(field.scalar ?? ScalarType.STRING, { ...rules, required: false });
}

/**
 * The bounds of the numbers that can be represented exactly. A 64-bit field is a number if its
 * rules declare it.
 */
function numberRange(scalar: ScalarType): readonly [number, number] | undefined {
  switch (scalar) {
    case ScalarType.INT32:
    case ScalarType.SINT32:
    case ScalarType.SFIXED32:
      return [-(2 ** 31), 2 ** 31 - 1];
    case ScalarType.UINT32:
    case ScalarType.FIXED32:
      return [0, 2 ** 32 - 1];
    case ScalarType.INT64:
    case ScalarType.SINT64:
    case ScalarType.SFIXED64:
      return [-Number.MAX_SAFE_INTEGER, Number.MAX_SAFE_INTEGER];
    case ScalarType.UINT64:
    case ScalarType.FIXED64:
      return [0, Number.MAX_SAFE_INTEGER];
    default:
      return undefined;
  }
}

/** The schema of a scalar with its rules. */
function scalarSchema(scalar: ScalarType, rules: FieldRules): JsonSchema {
  if (scalar === ScalarType.BOOL) return { type: 'boolean' };
  if (scalar === ScalarType.DOUBLE || scalar === ScalarType.FLOAT)
    return {
      type: 'number',
      ...(rules.minimum === undefined ? {} : { minimum: rules.minimum }),
      ...(rules.maximum === undefined ? {} : { maximum: rules.maximum }),
    };
  const range = rules.jsNumber || !is64(scalar) ? numberRange(scalar) : undefined;
  if (range)
    return {
      type: 'integer',
      minimum: rules.minimum ?? range[0],
      maximum: rules.maximum ?? range[1],
    };
  return {
    type: 'string',
    ...(rules.format ? { format: rules.format } : {}),
    ...(rules.required ? { minLength: 1 } : {}),
    ...(rules.maxLength === undefined ? {} : { maxLength: rules.maxLength }),
    ...(rules.pattern === undefined ? {} : { pattern: rules.pattern }),
  };
}

function is64(scalar: ScalarType): boolean {
  return [
    ScalarType.INT64,
    ScalarType.SINT64,
    ScalarType.SFIXED64,
    ScalarType.UINT64,
    ScalarType.FIXED64,
  ].includes(scalar);
}

/** JSON type of a scalar in a query; 64-bit integers and bytes are strings. */
export function jsonType(
  field: DescField & { fieldKind: 'scalar' },
): 'boolean' | 'integer' | 'number' | 'string' {
  switch (field.scalar) {
    case ScalarType.BOOL:
      return 'boolean';
    case ScalarType.DOUBLE:
    case ScalarType.FLOAT:
      return 'number';
    default:
      return !is64(field.scalar) && numberRange(field.scalar) ? 'integer' : 'string';
  }
}
