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
import { formats } from './formats.js';

/** A whole number from its string, as proto3 JSON allows. Other values and unsafe integers are returned unchanged. */
function numberFromText(value: unknown): unknown {
  if (typeof value !== 'string' || !/^-?\d{1,16}$/.test(value)) return value;
  return Number.isSafeInteger(Number(value)) ? Number(value) : value;
}

/** True if protobuf does not transmit the value, because it is the zero value of a field without presence. */
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

/** True for a value that input of clients does not have: of an output-only field, or one that protobuf omits. */
function isOmitted({ field, rules }: CleanedField, value: unknown): boolean {
  return rules.outputOnly || isUnset(field, value);
}

/** The inputs of the cleaning of a field. */
interface CleanedField {
  readonly field: DescField;
  readonly rules: FieldRules;
  readonly numberToo: boolean;
}

/**
 * Copies objects of clients without the parts that are not stored. What it needs of a field is read once per message.
 */
export class InputCleaning {
  readonly #schemas: SchemaRegistry;
  readonly #fields = new Map<DescMessage, ReadonlyMap<string, CleanedField>>();

  constructor(schemas: SchemaRegistry) {
    this.#schemas = schemas;
  }

  /**
   * Copies the fields of an object.
   * @param status whether it is the input of a controller: top-level output-only fields and zero values stay
   */
  of(message: DescMessage, json: JsonObject, status: boolean): JsonObject {
    const known = this.#fieldsOf(message);
    const entries: [string, unknown][] = [];
    for (const name of Object.keys(json)) {
      const value = json[name];
      const field = known.get(name);
      if (!field) entries.push([name, value]);
      else if (value !== null && value !== undefined && (status || !isOmitted(field, value)))
        entries.push([name, this.#cleanField(field, value)]);
    }
    return Object.fromEntries(entries);
  }

  #fieldsOf(message: DescMessage): ReadonlyMap<string, CleanedField> {
    const known = this.#fields.get(message);
    if (known) return known;
    const fields = new Map(
      message.fields.map((field): [string, CleanedField] => {
        const rules = fieldRules(this.#schemas.registry, field);
        const numberToo = formats[rules.format]?.numberToo ?? false;
        return [field.jsonName, { field, rules, numberToo }];
      }),
    );
    this.#fields.set(message, fields);
    return fields;
  }

  #cleanField({ field, rules, numberToo }: CleanedField, value: unknown): unknown {
    if (numberToo && typeof value === 'number') return String(value);
    return this.#cleanValue(field, rules, value);
  }

  #cleanValue(field: DescField, rules: FieldRules, value: unknown): unknown {
    const { message } = field;
    const item = (inner: unknown): unknown => {
      // JSON has one zero, and objects are stored as JSON.
      if (Object.is(inner, -0)) return 0;
      if (!message) return rules.jsNumber ? numberFromText(inner) : inner;
      return isJsonMessage(message) || !isJsonObject(inner)
        ? inner
        : this.of(message, inner, false);
    };
    if (field.fieldKind === 'list') return Array.isArray(value) ? value.map(item) : value;
    if (field.fieldKind !== 'map' || !isJsonObject(value)) return item(value);
    return Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, item(inner)]));
  }
}
