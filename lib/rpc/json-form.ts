import type { DescField, DescMessage } from '@bufbuild/protobuf';
import { isJsonObject } from './json.js';
import { isJsNumber } from './options.js';

const jsonMessages = [
  'google.protobuf.Value',
  'google.protobuf.Struct',
  'google.protobuf.ListValue',
];

/** True for the messages that stand for JSON as it is. */
export function isJsonMessage(message: DescMessage): boolean {
  return jsonMessages.includes(message.typeName);
}

/** Reads a field's value in proto3 JSON, in which 64 bits are text, as objects have it. */
type Read = (value: unknown) => unknown;

/** Per message the fields that differ; undefined for most messages: nothing to do. */
const plans = new WeakMap<DescMessage, ReadonlyMap<string, Read> | undefined>();

function planOf(message: DescMessage): ReadonlyMap<string, Read> | undefined {
  if (plans.has(message)) return plans.get(message);
  const plan = new Map<string, Read>();
  // Set before its fields are looked at, as a message may hold itself; then it is always walked.
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

/** Text of a whole number as that number; anything else, and what a number does not hold, as it is. */
function numberOf(value: unknown): unknown {
  if (typeof value !== 'string' || !/^-?\d{1,16}$/.test(value)) return value;
  const number = Number(value);
  return Number.isSafeInteger(number) ? number : value;
}

/** An object in proto3 JSON as the store and programs have it: declared 64-bit fields are numbers. */
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
