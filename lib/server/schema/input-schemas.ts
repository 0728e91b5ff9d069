import type { ErrorObject, ValidateFunction } from 'ajv';
import { Ajv } from 'ajv';
import { type FieldViolation, limits } from '../../base/index.js';
import {
  type DescMessage,
  fieldRules,
  isJsonMessage,
  isJsonObject,
  type JsonObject,
  type SchemaRegistry,
} from '../../rpc/index.js';
import { InputCleaning } from './input-cleaning.js';
import { overfull, unknownField } from './entry-bounds.js';
import { formats } from './formats.js';
import { inputSchema, type JsonSchema, sensitiveKeyword, statusSchema } from './json-schema.js';

/** Maximum number of reported violations per object, and maximum characters of a value in one. */
const violationsMax = 100;
const shownMax = 80;

/** A value as text for a message. Of a large value only the beginning is converted. */
function shown(value: unknown): string {
  const text = JSON.stringify(beginning(value, 2)) ?? 'undefined';
  return text.length > shownMax ? `${text.slice(0, shownMax - 3)}...` : text;
}

/** The part of a value that fits into the first characters of its text, limited to `levels` levels. */
function beginning(value: unknown, levels: number): unknown {
  if (typeof value === 'string') return value.slice(0, shownMax);
  if (Array.isArray(value))
    return levels === 0 ? [] : value.slice(0, shownMax).map((item) => beginning(item, levels - 1));
  if (!isJsonObject(value)) return value;
  const part: Record<string, unknown> = {};
  let count = 0;
  for (const name in value) {
    if (levels === 0 || (count += 1) > shownMax) break;
    part[name.slice(0, shownMax)] = beginning(value[name], levels - 1);
  }
  return part;
}

/** Converts `/bulbs/0/color` to `bulbs[0].color`. */
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
  const quoted = error.parentSchema?.[sensitiveKeyword] !== true;
  // Computed only if it is reported: the value of an unknown field is the whole surrounding object, which may have a
  // hundred thousand entries.
  const value = (): string => (quoted ? shown(error.data) : 'the value');
  switch (error.keyword) {
    case 'additionalProperties':
      return {
        field: dotted(error.instancePath, String(params.additionalProperty)),
        description: unknownField,
      };
    case 'required':
      return {
        field: dotted(error.instancePath, String(params.missingProperty)),
        description: 'is required',
      };
    case 'enum':
      return {
        field,
        description: `${value()} is not allowed; use one of ${(params.allowedValues as string[]).join(', ')}`,
      };
    case 'format':
      return {
        field,
        description: `${value()} ${formats[String(params.format)]?.rule ?? 'is malformed'}`,
      };
    case 'minLength':
    case 'minItems':
      return { field, description: 'must not be empty' };
    case 'maxItems':
    case 'maxProperties': {
      const has = Object.keys(error.data as object).length;
      const description = `has ${has} entries, and at most ${String(params.limit)} are allowed`;
      return { field, description };
    }
    case 'type': {
      const wanted = String(params.type);
      const quote = wanted === 'string' ? '; put it in quotes' : '';
      return { field, description: `${value()} must be of type ${wanted}${quote}` };
    }
    default:
      return { field, description: `${value()} ${error.message ?? 'is not valid'}` };
  }
}

/** True for a message that clients can nest to any depth. */
function holdsJson(message: DescMessage, seen = new Set<DescMessage>()): boolean {
  if (isJsonMessage(message) || seen.has(message)) return true;
  seen.add(message);
  const found = message.fields.some((field) => field.message && holdsJson(field.message, seen));
  seen.delete(message);
  return found;
}

function isDeeperThan(value: unknown, depthMax: number): boolean {
  let level: unknown[] = [value];
  for (let depth = 0; level.length > 0; depth += 1) {
    if (depth > depthMax) return true;
    level = level.flatMap((inner): unknown[] =>
      typeof inner === 'object' && inner !== null ? Object.values(inner) : [],
    );
  }
  return false;
}

/**
 * Bounds the text that a pattern is matched against. Ajv checks every keyword of a schema, so the pattern is checked
 * only if `maxLength` holds.
 */
function withBoundedPatterns(schema: unknown): unknown {
  if (Array.isArray(schema)) return schema.map(withBoundedPatterns);
  if (!isJsonObject(schema)) return schema;
  const { pattern, ...rest } = schema;
  const walked = Object.fromEntries(
    Object.entries(rest).map(([key, value]) => [key, withBoundedPatterns(value)]),
  );
  if (typeof pattern !== 'string')
    return pattern === undefined ? walked : { ...walked, pattern: withBoundedPatterns(pattern) };
  const text = { type: 'string' };
  return {
    ...walked,
    if: { ...text, maxLength: schema.maxLength },
    // biome-ignore lint/suspicious/noThenProperty: a keyword of JSON schema
    then: { ...text, pattern, [sensitiveKeyword]: schema[sensitiveKeyword] === true },
  };
}

interface CompiledSchema {
  readonly validate: ValidateFunction;
  readonly holdsJson: boolean;
}

/**
 * Validates input of clients by the schema of the message's descriptor. Schemas are compiled at first use, once per
 * message.
 */
export class InputSchemas {
  readonly #schemas: SchemaRegistry;
  readonly #ajv: Ajv;
  readonly #compiled = new Map<string, CompiledSchema>();
  readonly #cleaning: InputCleaning;

  constructor(schemas: SchemaRegistry) {
    this.#schemas = schemas;
    this.#cleaning = new InputCleaning(schemas);
    // allErrors: all violations at once; input size is bounded by the transports. Schemas come from declarations. Without
    // the meta schema, whose compilation takes longer than that of all of them; a test validates those of Kedge's kinds.
    const ours = { meta: false, validateSchema: false };
    this.#ajv = new Ajv({ allErrors: true, verbose: true, strict: true, ...ours });
    this.#ajv.addKeyword(sensitiveKeyword);
    for (const [name, format] of Object.entries(formats))
      this.#ajv.addFormat(name, { validate: format.test });
  }

  /** The violations of entry limits. Call it before any code iterates over all entries. */
  overfull(message: DescMessage, json: JsonObject): readonly FieldViolation[] {
    return overfull(this.#schemas, message, json);
  }

  /** The violations of the shape of `json`. */
  violations(message: DescMessage, json: JsonObject): readonly FieldViolation[] {
    const schema = (): JsonSchema => inputSchema(this.#schemas, message);
    return this.#violations(message.typeName, schema, message, json);
  }

  /** Like {@link violations}, for the status fields that a controller sends. */
  statusViolations(
    message: DescMessage,
    names: readonly string[],
    json: JsonObject,
  ): readonly FieldViolation[] {
    const schema = (): JsonSchema => statusSchema(this.#schemas, message, names);
    return this.#violations(`${message.typeName}/status`, schema, message, json);
  }

  #violations(
    id: string,
    schema: () => JsonSchema,
    message: DescMessage,
    json: JsonObject,
  ): readonly FieldViolation[] {
    let compiled = this.#compiled.get(id);
    if (!compiled) {
      const validate = this.#ajv.compile(withBoundedPatterns(schema()) as JsonSchema);
      this.#compiled.set(id, (compiled = { validate, holdsJson: holdsJson(message) }));
    }
    if (compiled.holdsJson && isDeeperThan(json, limits.jsonValueDepthMax))
      return [
        {
          field: '(object)',
          description: `is nested deeper than ${limits.jsonValueDepthMax} levels; flatten it`,
        },
      ];
    const { validate } = compiled;
    if (validate(json)) return [];
    const errors = (validate.errors ?? []).filter(({ keyword }) => keyword !== 'if');
    const reported = errors.slice(0, violationsMax).map(violationOf);
    const more = errors.length - reported.length;
    if (more === 0) return reported;
    return [
      ...reported,
      { field: '(object)', description: `and ${more} more that are not listed` },
    ];
  }

  /**
   * A copy without output-only fields and without zero values that protobuf can't distinguish from absent ones, so
   * that both transports store the same. Numbers become strings if the format of the field accepts them, such as
   * quantities. Other values are unchanged, for {@link violations} to validate.
   */
  clean(message: DescMessage, json: JsonObject): JsonObject {
    return this.#cleaning.of(message, json, false);
  }

  /** Like {@link clean}, for input of a controller: top-level output-only fields and zero values stay. */
  cleanStatus(message: DescMessage, json: JsonObject): JsonObject {
    return this.#cleaning.of(message, json, true);
  }

  /** Names of the immutable top-level fields. */
  immutableFields(message: DescMessage): readonly string[] {
    return message.fields
      .filter((field) => fieldRules(this.#schemas.registry, field).immutable)
      .map((field) => field.jsonName);
  }

  /** True for a field, or one within a nested object, whose value must not be quoted in messages. */
  isSensitive(message: DescMessage, path: string): boolean {
    const [name = '', ...rest] = path.split('.');
    const field = message.fields.find(({ jsonName }) => jsonName === name);
    if (!field) return false;
    if (fieldRules(this.#schemas.registry, field).sensitive) return true;
    return rest.length > 0 && field.fieldKind === 'message'
      ? this.isSensitive(field.message, rest.join('.'))
      : false;
  }
}
