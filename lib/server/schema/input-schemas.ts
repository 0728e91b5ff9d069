import type { ErrorObject, ValidateFunction } from 'ajv';
import { Ajv } from 'ajv';
import { type FieldViolation, limits } from '../../base/index.js';
import {
  type DescField,
  type DescMessage,
  fieldRules,
  type FieldRules,
  hasPresence,
  isJsonMessage,
  isJsonObject,
  type JsonObject,
  type SchemaRegistry,
} from '../../rpc/index.js';
import { overfull, unknownField } from './entry-bounds.js';
import { formats } from './formats.js';
import { inputSchema, type JsonSchema, sensitiveKeyword, statusSchema } from './json-schema.js';

/** Maximum of reported violations per object, and characters of a value in one. */
const violationsMax = 100;
const shownMax = 80;

/** A value for a message. Of a large one no more than its beginning is turned into text. */
function shown(value: unknown): string {
  const text = JSON.stringify(beginning(value, 2)) ?? 'undefined';
  return text.length > shownMax ? `${text.slice(0, shownMax - 3)}...` : text;
}

/** The part of a value that the first characters of its text can show, limited to `levels` levels. */
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

/** `/bulbs/0/color` as `bulbs[0].color`. */
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
  // Only where it is reported: the value of an unknown field is the whole surrounding object, which may have a
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

/** True for a message in which a client can nest as deep as it likes. */
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
 * Ajv judges every keyword of a schema, so a pattern would see text that is too long for it: it is
 * judged only where `maxLength` holds.
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

/** Text of a whole number, which proto3 JSON allows for 64 bits, as that number. */
function numberFromText(value: unknown): unknown {
  if (typeof value !== 'string' || !/^-?\d{1,16}$/.test(value)) return value;
  return Number.isSafeInteger(Number(value)) ? Number(value) : value;
}

/** True for what a protobuf message without presence for this field would not even carry. */
function isUnset(field: DescField, value: unknown): boolean {
  switch (field.fieldKind) {
    case 'scalar':
      return !hasPresence(field) && (value === '' || value === 0 || value === false);
    case 'list':
      return Array.isArray(value) && value.length === 0;
    case 'map':
      return isJsonObject(value) && Object.keys(value).length === 0;
    default:
      return false;
  }
}

interface Judge {
  readonly validate: ValidateFunction;
  readonly holdsJson: boolean;
}

/**
 * Judges what clients send by the schema that follows from the message's descriptor. Compiled once
 * per message, at first use.
 */
export class InputSchemas {
  readonly #schemas: SchemaRegistry;
  readonly #ajv: Ajv;
  readonly #compiled = new Map<string, Judge>();

  constructor(schemas: SchemaRegistry) {
    this.#schemas = schemas;
    // allErrors: all violations at once; input size is bounded by the transports.
    // The schemas are ours, and a test holds them to the meta schema: compiling that here would take
    // longer than all of them.
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

  /** Everything that is wrong with the shape of `json`; empty when nothing is. */
  violations(message: DescMessage, json: JsonObject): readonly FieldViolation[] {
    const schema = (): JsonSchema => inputSchema(this.#schemas, message);
    return this.#judge(message.typeName, schema, message, json);
  }

  /** Like {@link violations}, for status fields that a controller sends. */
  statusViolations(
    message: DescMessage,
    names: readonly string[],
    json: JsonObject,
  ): readonly FieldViolation[] {
    const schema = (): JsonSchema => statusSchema(this.#schemas, message, names);
    return this.#judge(`${message.typeName}/status`, schema, message, json);
  }

  #judge(
    id: string,
    schema: () => JsonSchema,
    message: DescMessage,
    json: JsonObject,
  ): readonly FieldViolation[] {
    let judge = this.#compiled.get(id);
    if (!judge) {
      const validate = this.#ajv.compile(withBoundedPatterns(schema()) as JsonSchema);
      this.#compiled.set(id, (judge = { validate, holdsJson: holdsJson(message) }));
    }
    if (judge.holdsJson && isDeeperThan(json, limits.jsonValueDepthMax))
      return [
        {
          field: '(object)',
          description: `is nested deeper than ${limits.jsonValueDepthMax} levels; flatten it`,
        },
      ];
    const { validate } = judge;
    if (validate(json)) return [];
    const errors = (validate.errors ?? []).filter(({ keyword }) => keyword !== 'if');
    const told = errors.slice(0, violationsMax).map(violationOf);
    const more = errors.length - told.length;
    if (more === 0) return told;
    return [...told, { field: '(object)', description: `and ${more} more that are not listed` }];
  }

  /**
   * A copy without fields that only the server writes, without zero values where protobuf can't tell
   * them from absent ones (so that both transports store the same), and with numbers spelled as text where
   * the format of the text takes them, such as quantities. Other values stay as they are, for {@link violations} to judge.
   */
  clean(message: DescMessage, json: JsonObject): JsonObject {
    return this.#clean(message, json, false);
  }

  /** Like {@link clean}, of what a controller sends: fields that only the server writes and zero values stay. */
  cleanStatus(message: DescMessage, json: JsonObject): JsonObject {
    return this.#clean(message, json, true);
  }

  #clean(message: DescMessage, json: JsonObject, status: boolean): JsonObject {
    const known = new Map(message.fields.map((field) => [field.jsonName, field]));
    const entries = Object.entries(json).flatMap(([name, value]): [string, unknown][] => {
      const field = known.get(name);
      if (!field) return [[name, value]];
      const rules = fieldRules(this.#schemas.registry, field);
      if (value === null || value === undefined) return [];
      if (!status && (rules.outputOnly || isUnset(field, value))) return [];
      const { numberToo } = formats[rules.format] ?? {};
      if (numberToo && typeof value === 'number') return [[name, String(value)]];
      return [[name, this.#cleanValue(field, rules, value)]];
    });
    return Object.fromEntries(entries);
  }

  #cleanValue(field: DescField, rules: FieldRules, value: unknown): unknown {
    const { message } = field;
    const item = (inner: unknown): unknown => {
      // JSON, which the store keeps, has one zero.
      if (Object.is(inner, -0)) return 0;
      if (!message) return rules.jsNumber ? numberFromText(inner) : inner;
      return isJsonMessage(message) || !isJsonObject(inner) ? inner : this.clean(message, inner);
    };
    if (field.fieldKind === 'list') return Array.isArray(value) ? value.map(item) : value;
    if (field.fieldKind !== 'map' || !isJsonObject(value)) return item(value);
    return Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, item(inner)]));
  }

  /** Names of the fields that may not change once the object exists. */
  immutableFields(message: DescMessage): readonly string[] {
    return message.fields
      .filter((field) => fieldRules(this.#schemas.registry, field).immutable)
      .map((field) => field.jsonName);
  }

  /** True for a field, or one in a nested object, whose value messages must not quote. */
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
