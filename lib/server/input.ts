import type { ErrorObject, ValidateFunction } from 'ajv';
import { Ajv } from 'ajv';
import type { FieldViolation } from '../base/index.js';
import {
  type DescField,
  type DescMessage,
  fieldRules,
  isJsonObject,
  type JsonObject,
  type SchemaRegistry,
} from '../rpc/index.js';
import { formats } from './formats.js';
import { inputSchema } from './json-schema.js';

function shown(value: unknown): string {
  const text = JSON.stringify(value) ?? 'undefined';
  return text.length > 80 ? `${text.slice(0, 77)}...` : text;
}

/** `/volumes/0/mountPath` as `volumes[0].mountPath`. */
function dotted(pointer: string, last?: string): string {
  const parts = pointer.split('/').slice(1);
  if (last !== undefined) parts.push(last);
  const text = parts
    .map((part) => part.replaceAll('~1', '/').replaceAll('~0', '~'))
    .map((part) => (/^\d+$/.test(part) ? `[${part}]` : `.${part}`))
    .join('');
  return text.replace(/^\./, '') || '(object)';
}

function violationOf(error: ErrorObject): FieldViolation {
  const params = error.params as Readonly<Record<string, unknown>>;
  const field = dotted(error.instancePath);
  const value = shown(error.data);
  switch (error.keyword) {
    case 'additionalProperties':
      return {
        field: dotted(error.instancePath, String(params.additionalProperty)),
        description: 'is not a field of this object; check the spelling or remove it',
      };
    case 'required':
      return {
        field: dotted(error.instancePath, String(params.missingProperty)),
        description: 'is required',
      };
    case 'enum':
      return {
        field,
        description: `${value} is not allowed; use one of ${(params.allowedValues as string[]).join(', ')}`,
      };
    case 'format':
      return {
        field,
        description: `${value} ${formats[String(params.format)]?.rule ?? 'is malformed'}`,
      };
    case 'minLength':
    case 'minItems':
      return { field, description: 'must not be empty' };
    case 'type': {
      const wanted = String(params.type);
      const quote = wanted === 'string' ? '; put it in quotes' : '';
      return { field, description: `${value} must be of type ${wanted}${quote}` };
    }
    default:
      return { field, description: `${value} ${error.message ?? 'is not valid'}` };
  }
}

/** True for what a protobuf message without presence for this field would not even carry. */
function isUnset(field: DescField, value: unknown): boolean {
  if (field.proto.proto3Optional) return false;
  switch (field.fieldKind) {
    case 'scalar':
      return value === '' || value === 0 || value === false;
    case 'list':
      return Array.isArray(value) && value.length === 0;
    case 'map':
      return isJsonObject(value) && Object.keys(value).length === 0;
    default:
      return false;
  }
}

/**
 * Judges what clients send by the schema that follows from the message's descriptor. Compiled once
 * per message, at first use.
 */
export class InputSchemas {
  readonly #schemas: SchemaRegistry;
  readonly #ajv: Ajv;
  readonly #compiled = new Map<string, ValidateFunction>();

  constructor(schemas: SchemaRegistry) {
    this.#schemas = schemas;
    // allErrors: all violations at once; input size is bounded by the transports.
    // The schemas are ours, and a test holds them to the meta schema: compiling that here would take
    // longer than all of them.
    const ours = { meta: false, validateSchema: false };
    this.#ajv = new Ajv({ allErrors: true, verbose: true, strict: true, ...ours });
    for (const [name, format] of Object.entries(formats))
      this.#ajv.addFormat(name, { validate: format.test });
  }

  /** Everything that is wrong with the shape of `json`; empty when nothing is. */
  violations(message: DescMessage, json: JsonObject): readonly FieldViolation[] {
    let validate = this.#compiled.get(message.typeName);
    if (!validate) {
      validate = this.#ajv.compile(inputSchema(this.#schemas, message));
      this.#compiled.set(message.typeName, validate);
    }
    return validate(json) ? [] : (validate.errors ?? []).map(violationOf);
  }

  /**
   * A copy without fields that only the server writes, without zero values where protobuf can't tell
   * them from absent ones (so that both transports store the same), and with quantities given as
   * numbers spelled as text (design.md section 12). Other values stay as they are, for {@link violations} to judge.
   */
  clean(message: DescMessage, json: JsonObject): JsonObject {
    const known = new Map(message.fields.map((field) => [field.jsonName, field]));
    const entries = Object.entries(json).flatMap(([name, value]): [string, unknown][] => {
      const field = known.get(name);
      if (!field) return [[name, value]];
      const rules = fieldRules(this.#schemas.registry, field);
      if (rules.outputOnly || value === null || value === undefined) return [];
      if (isUnset(field, value)) return [];
      if (rules.format === 'quantity' && typeof value === 'number') return [[name, String(value)]];
      const inner = 'message' in field ? field.message : undefined;
      if (!inner || inner.typeName === 'google.protobuf.Struct') return [[name, value]];
      if (Array.isArray(value))
        return [
          [
            name,
            value.map((item: unknown) => (isJsonObject(item) ? this.clean(inner, item) : item)),
          ],
        ];
      return [[name, isJsonObject(value) ? this.clean(inner, value) : value]];
    });
    return Object.fromEntries(entries);
  }

  /** Names of the fields that may not change once the object exists. */
  immutableFields(message: DescMessage): readonly string[] {
    return message.fields
      .filter((field) => fieldRules(this.#schemas.registry, field).immutable)
      .map((field) => field.jsonName);
  }
}
