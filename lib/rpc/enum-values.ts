import type { DescEnum, DescField, DescMessage } from '@bufbuild/protobuf';
import type { FieldViolation } from '../base/index.js';
import { isJsonObject, type JsonObject } from './json.js';

/** Maximum number of reported values per message, and characters of a value in a report. */
const reportedMax = 10;
const shownMax = 80;

/** Whether a value of an enum may be a number in JSON: any number, such as that of a newer API, or none. */
type Numbers = 'any' | 'none';

/** The treatment of the values in one message that their enums do not have. */
type Search =
  | { readonly type: 'report'; readonly numbers: Numbers; readonly found: FieldViolation[] }
  /** They are replaced by {@link markOf}; whole numbers stay. */
  | { readonly type: 'mark' };

/** An object or a list of a message, which is changed only by a search that marks. */
type Holder = Record<string | number, unknown>;

/** Checks the value of a holder under a key. `path` is the path of the value. */
type Check = (holder: Holder, key: string | number, path: string, search: Search) => void;

/** The checks of the fields of each message by name; undefined for a message without an enum at any depth. */
const plans = new WeakMap<DescMessage, ReadonlyMap<string, Check> | undefined>();

function planOf(message: DescMessage): ReadonlyMap<string, Check> | undefined {
  if (plans.has(message)) return plans.get(message);
  const plan = new Map<string, Check>();
  // Set before its fields are visited, because a message may contain itself; a recursive message is always checked.
  plans.set(message, plan);
  // The messages of this package have a JSON form of their own.
  const fields = message.typeName.startsWith('google.protobuf.') ? [] : message.fields;
  for (const field of fields) {
    const check = checkOf(field);
    // JSON may name a field as the .proto file does.
    if (check) plan.set(field.name, check).set(field.jsonName, check);
  }
  if (plan.size > 0) return plan;
  plans.set(message, undefined);
  return undefined;
}

function checkOf(field: DescField): Check | undefined {
  const { enum: desc, message } = field;
  const item = desc ? valueCheck(desc, field) : message && planOf(message) && messageCheck(message);
  if (!item) return undefined;
  switch (field.fieldKind) {
    case 'list':
      return (holder, key, path, search) => {
        const items = holder[key];
        if (!Array.isArray(items)) return;
        for (const at of items.keys())
          item(items as unknown as Holder, at, `${path}[${at}]`, search);
      };
    case 'map':
      return (holder, key, path, search) => {
        const entries = holder[key];
        if (!isJsonObject(entries)) return;
        for (const name of Object.keys(entries)) item(entries, name, `${path}.${name}`, search);
      };
    default:
      return item;
  }
}

function messageCheck(message: DescMessage): Check {
  return (holder, key, path, search) => {
    const value = holder[key];
    if (isJsonObject(value)) checkFields(message, value, `${path}.`, search);
  };
}

function checkFields(message: DescMessage, json: JsonObject, prefix: string, search: Search): void {
  const plan = planOf(message);
  if (!plan) return;
  for (const name of Object.keys(json)) {
    if (search.type === 'report' && search.found.length >= reportedMax) return;
    plan.get(name)?.(json, name, prefix + name, search);
  }
}

/** The names of an enum's values without the zero value of an unset field. */
function allowedNames({ values }: DescEnum): readonly string[] {
  return values.map(({ name }) => name).filter((name) => !name.endsWith('_UNSPECIFIED'));
}

function valueCheck(desc: DescEnum, { proto }: DescField): Check | undefined {
  // Its JSON form is null.
  if (desc.typeName === 'google.protobuf.NullValue') return undefined;
  const names = new Set<unknown>(desc.values.flatMap(({ name, jsonName }) => [name, jsonName]));
  const isSecret = proto.options?.debugRedact === true;
  return (holder, key, path, search) => {
    const value = holder[key];
    // Absent values have no encoding.
    if (names.has(value) || value === null || value === undefined) return;
    const areNumbersKept = search.type === 'mark' || search.numbers === 'any';
    if (areNumbersKept && Number.isInteger(value)) return;
    if (search.type === 'mark') {
      holder[key] = markOf(desc);
      return;
    }
    const shown = isSecret ? 'the value' : JSON.stringify(value).slice(0, shownMax);
    const allowed = allowedNames(desc).join(', ');
    search.found.push({
      field: path,
      description: `${shown} is not allowed; use one of ${allowed}`,
    });
  };
}

/**
 * The values in the JSON form of a message that their enums do not have, at any depth: names that are not declared, and
 * values that are neither names nor whole numbers. The first ten are returned. The content of `google.protobuf.Any` and
 * of extensions is not checked.
 * @param numbers whether whole numbers may stand for a value, also those that the enum does not have: a message that was
 * read from a peer with a newer API has them
 */
export function unknownEnumValues(
  message: DescMessage,
  json: JsonObject,
  numbers: Numbers,
): readonly FieldViolation[] {
  const found: FieldViolation[] = [];
  checkFields(message, json, '', { type: 'report', numbers, found });
  return found;
}

/** A number that an enum does not have: -1, or the next one below. */
function markOf({ values }: DescEnum): number {
  const numbers = new Set(values.map(({ number }) => number));
  let mark = -1;
  while (numbers.has(mark)) mark -= 1;
  return mark;
}

/**
 * A copy of the JSON form of a message in which each value that {@link unknownEnumValues} would report is a number that
 * its enum does not have, mostly -1. A reader sees that the field is set, and a server refuses the
 * number in a write.
 */
export function withMarkedEnumValues(message: DescMessage, json: JsonObject): JsonObject {
  const copy = structuredClone(json);
  checkFields(message, copy, '', { type: 'mark' });
  return copy;
}

/** The check of the numbers of an enum in encoded messages. */
export interface EnumNumbers {
  has(number: number): boolean;
  /** Describes a number that the enum does not have. */
  description(number: number): string;
}

const numbersOf = new WeakMap<DescEnum, EnumNumbers>();

/** Returns the check of the numbers of an enum, which is created once. */
export function enumNumbersOf(desc: DescEnum): EnumNumbers {
  const known = numbersOf.get(desc);
  if (known) return known;
  const numbers = new Set(desc.values.map(({ number }) => number));
  const made: EnumNumbers = {
    has: (number) => numbers.has(number),
    description: (number) => {
      const allowed = desc.values
        .filter(({ name }) => !name.endsWith('_UNSPECIFIED'))
        .map(({ name, number: of }) => `${name} (${of})`);
      return `${desc.typeName} has no value with number ${number}; use one of ${allowed.join(', ')}, or a server with an API that has the value`;
    },
  };
  numbersOf.set(desc, made);
  return made;
}
