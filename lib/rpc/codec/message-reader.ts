import { type DescField, type DescMessage, ScalarType } from '@bufbuild/protobuf';
import { WireType } from '@bufbuild/protobuf/wire';
import { FeatureSet_FieldPresence } from '@bufbuild/protobuf/wkt';
import type { JsonObject } from '../json.js';
import { isJsNumber } from '../options.js';
import { MessageInput, unread } from './message-input.js';
import { depthMax, int32Max, isUnusual, type SingleField, uint32Max } from './supported-fields.js';

type Json = Record<string, unknown>;

/** The message that is read; messages are read one at a time. */
const input = new MessageInput();

/** Reads a value before `end`; {@link unread} for one that is left to the general decoder. */
type Read = (end: number, depth: number) => unknown;

/** Reads the fields of a message up to `end`. */
type ReadFields = (end: number, depth: number) => Json | typeof unread;

/** The reader of a field. */
interface FieldReader {
  /** The wire type. */
  readonly type: number;
  /** The field may occur again. */
  readonly repeats: boolean;
  /** Reads one occurrence into the object. Returns false for one that is left to the general decoder. */
  readonly add: (json: Json, end: number, depth: number) => boolean;
}

/**
 * Decodes a message to the JSON form of objects as the general decoder does, in one pass. The functions for its fields
 * are created once per message type. Returns undefined for bytes that are unusual or not valid, such as unknown fields,
 * fields that are not in the order of their numbers, or repeated single fields. The general decoder decides on them.
 */
export function readMessage(message: DescMessage, bytes: Uint8Array): JsonObject | undefined {
  input.begin(bytes);
  const json = readerOf(message)(bytes.length, 0);
  input.end();
  return json === unread ? undefined : json;
}

const readers = new WeakMap<DescMessage, ReadFields>();

function readerOf(message: DescMessage): ReadFields {
  let reader = readers.get(message);
  if (!reader) readers.set(message, (reader = compile(message)));
  return reader;
}

const refuse = (): typeof unread => unread;

function compile(message: DescMessage): ReadFields {
  // These have a JSON form of their own.
  if (message.typeName.startsWith('google.protobuf.')) return refuse;
  if (message.fields.some(isUnusual)) return refuse;
  const fields = new Map<number, FieldReader>();
  const reader: ReadFields = (end, depth) => {
    if (depth > depthMax) return unread;
    const json: Json = {};
    let last = 0;
    while (input.at < end) {
      const tag = input.varint(end);
      const number = Math.floor(tag / 8);
      const field = fields.get(number);
      if (field?.type !== tag % 8) return unread;
      if (number < last || (number === last && !field.repeats)) return unread;
      last = number;
      if (!field.add(json, end, depth)) return unread;
    }
    return json;
  };
  // Set before its fields are visited, because a message may contain itself.
  readers.set(message, reader);
  for (const field of message.fields) fields.set(field.number, fieldReader(field));
  return reader;
}

const unknown: FieldReader = { type: WireType.LengthDelimited, repeats: false, add: () => false };

function fieldReader(field: DescField): FieldReader {
  if (field.oneof) return unknown;
  const name = field.jsonName;
  switch (field.fieldKind) {
    case 'list':
      return listReader(field);
    case 'map':
      return mapReader(field);
    case 'message':
      return field.delimitedEncoding
        ? unknown
        : single(name, WireType.LengthDelimited, nested(field.message));
    case 'enum':
    case 'scalar': {
      const [type, read] = valueReader(field);
      // The zero value of a field without presence is not shown.
      const isImplicit = field.presence === FeatureSet_FieldPresence.IMPLICIT;
      return single(name, type, read, isImplicit ? zeroOf(field) : undefined);
    }
  }
}

function single(name: string, type: number, read: Read, zero?: unknown): FieldReader {
  return {
    type,
    repeats: false,
    add: (json, end, depth) => {
      const value = read(end, depth);
      if (value === unread) return false;
      if (zero === undefined || !Object.is(value, zero)) json[name] = value;
      return true;
    },
  };
}

/** The value that is not shown, in the form of objects. */
function zeroOf(field: SingleField): unknown {
  if (field.fieldKind === 'enum') return field.enum.values[0]?.jsonName;
  switch (field.scalar) {
    case ScalarType.STRING:
      return '';
    case ScalarType.BOOL:
      return false;
    case ScalarType.INT64:
    case ScalarType.UINT64:
      return isJsNumber(field) ? 0 : '0';
    default:
      return 0;
  }
}

/** The wire type of a field, and how its value is read. */
function valueReader(field: SingleField): readonly [number, Read] {
  if (field.fieldKind === 'enum') {
    const { values, typeName } = field.enum;
    const names = new Map(values.map(({ number, jsonName }) => [number, jsonName]));
    // `NullValue` has a JSON form of its own, and a number with two names is left to the general decoder.
    if (typeName.startsWith('google.protobuf.') || names.size < values.length)
      return [WireType.Varint, refuse];
    return [
      WireType.Varint,
      (end) => {
        const value = whole(end, int32Max);
        return value === unread ? unread : (names.get(value) ?? unread);
      },
    ];
  }
  switch (field.scalar) {
    case ScalarType.STRING:
      return [WireType.LengthDelimited, text];
    case ScalarType.BOOL:
      return [WireType.Varint, flag];
    case ScalarType.INT32:
      return [WireType.Varint, (end) => whole(end, int32Max)];
    case ScalarType.UINT32:
      return [WireType.Varint, (end) => whole(end, uint32Max)];
    case ScalarType.INT64:
    case ScalarType.UINT64: {
      const isNumber = isJsNumber(field);
      return [
        WireType.Varint,
        (end) => {
          const value = whole(end, Number.MAX_SAFE_INTEGER);
          return value === unread || isNumber ? value : String(value);
        },
      ];
    }
    case ScalarType.DOUBLE:
      return [WireType.Bit64, (end) => input.double(end)];
    default:
      return [WireType.LengthDelimited, refuse];
  }
}

const text: Read = (end) => input.text(end);

function flag(end: number): unknown {
  const value = input.varint(end);
  return value === 0 ? false : value === 1 ? true : unread;
}

function whole(end: number, max: number): number | typeof unread {
  const value = input.varint(end);
  return value < 0 || value > max ? unread : value;
}

function nested(message: DescMessage): Read {
  const read = readerOf(message);
  return (end, depth) => {
    const past = input.part(end);
    return past < 0 ? unread : read(past, depth + 1);
  };
}

function listReader(field: DescField & { fieldKind: 'list' }): FieldReader {
  const name = field.jsonName;
  const read = itemReader(field);
  return {
    type: WireType.LengthDelimited,
    repeats: true,
    add: (json, end, depth) => {
      const value = read(end, depth);
      if (value === unread) return false;
      const items = json[name];
      if (Array.isArray(items)) items.push(value);
      else json[name] = [value];
      return true;
    },
  };
}

function itemReader(field: DescField & { fieldKind: 'list' }): Read {
  if (field.listKind === 'message') return field.delimitedEncoding ? refuse : nested(field.message);
  return field.scalar === ScalarType.STRING ? text : refuse;
}

/** Tags of an entry of a map whose key is a string and whose value is a string or message. */
const keyTag = 8 + WireType.LengthDelimited;
const valueTag = 16 + WireType.LengthDelimited;

function mapReader(field: DescField & { fieldKind: 'map' }): FieldReader {
  const name = field.jsonName;
  const read = entryValueReader(field);
  if (field.mapKey !== ScalarType.STRING) return unknown;
  return {
    type: WireType.LengthDelimited,
    repeats: true,
    add: (json, end, depth) => {
      const past = input.part(end);
      if (past < 0 || input.varint(past) !== keyTag) return false;
      const key = input.text(past);
      // An assignment to this key would set the prototype.
      if (key === unread || key === '__proto__' || input.varint(past) !== valueTag) return false;
      const value = read(past, depth);
      if (value === unread || input.at !== past) return false;
      ((json[name] ??= {}) as Json)[key] = value;
      return true;
    },
  };
}

function entryValueReader(field: DescField & { fieldKind: 'map' }): Read {
  if (field.mapKind === 'message') return nested(field.message);
  return field.scalar === ScalarType.STRING ? text : refuse;
}
