import type { DescField, DescMessage } from '@bufbuild/protobuf';
import { isJsonObject } from './json.js';
import { isJsNumber } from './options.js';

const jsonMessages = [
  'google.protobuf.Value',
  'google.protobuf.Struct',
  'google.protobuf.ListValue',
];

/** True for messages that represent JSON, such as `google.protobuf.Struct`. */
export function isJsonMessage(message: DescMessage): boolean {
  return jsonMessages.includes(message.typeName);
}

/** Converts a field's value from proto3 JSON, in which 64-bit integers are strings, to the form of objects. */
type Read = (value: unknown) => unknown;

/** The conversions of each message, by JSON name of the field; undefined for most messages, which need none. */
const plans = new WeakMap<DescMessage, ReadonlyMap<string, Read> | undefined>();

function planOf(message: DescMessage): ReadonlyMap<string, Read> | undefined {
  if (plans.has(message)) return plans.get(message);
  const plan = new Map<string, Read>();
  // Set before its fields are visited, because a message may contain itself; a recursive message is always converted.
  plans.set(message, plan);
  for (const field of message.fields) {
    const read = readOf(field);
    if (read) plan.set(field.jsonName, read);
  }
  if (plan.size > 0) return plan;
  plans.set(message, undefined);
  return undefined;
}

function readOf(field: DescField): Read | undefined {
  const { message } = field;
  const item: Read | undefined =
    message && !isJsonMessage(message) && planOf(message)
      ? (value) => (isJsonObject(value) ? fromProtoJson(message, value) : value)
      : isJsNumber(field)
        ? numberOf
        : undefined;
  if (!item) return undefined;
  switch (field.fieldKind) {
    case 'list':
      return (value) => (Array.isArray(value) ? value.map(item) : value);
    case 'map':
      return (value) =>
        isJsonObject(value)
          ? Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, item(inner)]))
          : value;
    default:
      return item;
  }
}

/** A whole number from its string; any other value, or one that a number can't represent, is unchanged. */
function numberOf(value: unknown): unknown {
  if (typeof value !== 'string' || !/^-?\d{1,16}$/.test(value)) return value;
  const number = Number(value);
  return Number.isSafeInteger(number) ? number : value;
}

/**
 * Converts an object from proto3 JSON to the form of store and programs. A 64-bit field with `jstype = JS_NUMBER` is a
 * number there; a value that a number can't represent exactly stays a string.
 */
export function fromProtoJson<T extends { readonly [key: string]: unknown }>(
  message: DescMessage,
  json: T,
): T {
  const plan = planOf(message);
  if (!plan) return json;
  const out: Record<string, unknown> = { ...json };
  for (const [name, read] of plan) if (name in out) out[name] = read(out[name]);
  return out as T;
}
