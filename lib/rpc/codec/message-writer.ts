import { type DescField, type DescMessage, ScalarType } from '@bufbuild/protobuf';
import { WireType } from '@bufbuild/protobuf/wire';
import { FeatureSet_FieldPresence } from '@bufbuild/protobuf/wkt';
import { isJsonObject } from '../json.js';
import { MessageOutput } from './message-output.js';
import { depthMax, int32Max, isUnusual, type SingleField, uint32Max } from './supported-fields.js';

/** Positive whole numbers of up to 15 digits as strings, without leading zeros. A number represents them exactly. */
const wholeText = /^[1-9]\d{0,14}$/;

type Json = Readonly<Record<string, unknown>>;

const output = new MessageOutput();

/** Writes a value with its tag. Returns false for a value that is left to the general encoder. */
type Write = (value: unknown, depth: number) => boolean;

/** Writes the fields of a message. */
type WriteFields = (json: Json, depth: number) => boolean;

const refuse: Write = () => false;

/**
 * Encodes the JSON form of a message as the general encoder does, in one pass. The functions for its fields are
 * created once per message type. Returns undefined for a value that is unusual or not valid: the general encoder
 * decides on it.
 */
export function writeMessage(message: DescMessage, json: Json): Buffer | undefined {
  output.begin();
  return writerOf(message)(json, 0) ? output.end() : undefined;
}

const writers = new WeakMap<DescMessage, WriteFields>();

function writerOf(message: DescMessage): WriteFields {
  let writer = writers.get(message);
  if (!writer) writers.set(message, (writer = compile(message)));
  return writer;
}

function compile(message: DescMessage): WriteFields {
  // These have a JSON form of their own.
  if (message.typeName.startsWith('google.protobuf.')) return refuse;
  const sorted = [...message.fields].sort((a, b) => a.number - b.number);
  const names = new Set(sorted.map(({ jsonName }) => jsonName));
  const others = new Set(sorted.map(({ name }) => name).filter((name) => !names.has(name)));
  if (sorted.some(isUnusual)) return refuse;
  const fields: { readonly name: string; readonly write: Write }[] = [];
  const writer: WriteFields = (json, depth) => {
    if (depth > depthMax) return false;
    let count = 0;
    for (const { name, write } of fields) {
      const value = json[name];
      if (value === undefined) continue;
      count += 1;
      if (!write(value, depth)) return false;
    }
    const given = Object.keys(json);
    return (
      given.length === count ||
      given.every(
        // Unknown fields are omitted. The general encoder writes extensions, and fields that are given by their name
        // in the .proto file.
        (name) =>
          names.has(name) ? json[name] !== undefined : !others.has(name) && !name.startsWith('['),
      )
    );
  };
  // Set before its fields are visited, because a message may contain itself.
  writers.set(message, writer);
  for (const field of sorted) fields.push({ name: field.jsonName, write: fieldWriter(field) });
  return writer;
}

function fieldWriter(field: DescField): Write {
  if (field.oneof) return refuse;
  switch (field.fieldKind) {
    case 'list':
      return listWriter(field);
    case 'map':
      return mapWriter(field);
    case 'message':
      return field.delimitedEncoding ? refuse : nested(field.number, field.message);
    case 'enum':
    case 'scalar': {
      const write = singleWriter(field);
      if (field.presence !== FeatureSet_FieldPresence.IMPLICIT) return write;
      // The zero value of a field without presence is not written.
      const isZero = zeroTest(field);
      return (value, depth) => isZero(value) || write(value, depth);
    }
  }
}

function zeroTest(field: SingleField): (value: unknown) => boolean {
  if (field.fieldKind === 'enum') {
    const [first] = field.enum.values;
    const zeros = field.enum.values.filter(({ number }) => number === first?.number);
    const names = new Set<unknown>(zeros.map(({ name }) => name));
    return (value) => names.has(value);
  }
  switch (field.scalar) {
    case ScalarType.STRING:
    case ScalarType.BYTES:
      return (value) => value === '';
    case ScalarType.BOOL:
      return (value) => value === false;
    case ScalarType.DOUBLE:
    case ScalarType.FLOAT:
      return (value) => Object.is(value, 0);
    case ScalarType.INT64:
    case ScalarType.UINT64:
      return (value) => value === 0 || value === '0';
    default:
      return (value) => value === 0;
  }
}

function singleWriter(field: SingleField): Write {
  const { number } = field;
  if (field.fieldKind === 'enum') return enumWriter(number, field.enum.values);
  switch (field.scalar) {
    case ScalarType.STRING:
      return textWriter(number);
    case ScalarType.BOOL:
      return tagged(number, WireType.Varint, (value) => {
        if (typeof value !== 'boolean') return false;
        output.varint(value ? 1 : 0);
        return true;
      });
    case ScalarType.INT32:
      return tagged(number, WireType.Varint, (value) => whole(value, int32Max));
    case ScalarType.UINT32:
      return tagged(number, WireType.Varint, (value) => whole(value, uint32Max));
    case ScalarType.INT64:
    case ScalarType.UINT64:
      return tagged(number, WireType.Varint, (value) =>
        whole(
          typeof value === 'string' && wholeText.test(value) ? Number(value) : value,
          Number.MAX_SAFE_INTEGER,
        ),
      );
    case ScalarType.DOUBLE:
      return tagged(number, WireType.Bit64, (value) => {
        if (typeof value !== 'number' || !Number.isFinite(value)) return false;
        output.double(value);
        return true;
      });
    default:
      return refuse;
  }
}

function tagOf(number: number, type: number): number {
  return number * 8 + type;
}

function tagged(number: number, type: number, write: (value: unknown) => boolean): Write {
  const tag = tagOf(number, type);
  return (value) => {
    output.varint(tag);
    return write(value);
  };
}

function whole(value: unknown, max: number): boolean {
  if (typeof value !== 'number' || !Number.isInteger(value) || value < 0 || value > max)
    return false;
  output.varint(value);
  return true;
}

function enumWriter(
  number: number,
  values: readonly { readonly name: string; readonly number: number }[],
): Write {
  const numbers = new Map(values.map(({ name, number: value }) => [name, value]));
  return tagged(number, WireType.Varint, (value) =>
    whole(typeof value === 'string' ? numbers.get(value) : undefined, int32Max),
  );
}

/** A method of strings in all supported versions of Node.js, which the library of the compiler lacks. */
interface WellFormed {
  isWellFormed(): boolean;
}

function text(value: unknown): boolean {
  if (typeof value !== 'string' || !(value as unknown as WellFormed).isWellFormed()) return false;
  output.text(value);
  return true;
}

function textWriter(number: number): Write {
  return tagged(number, WireType.LengthDelimited, text);
}

function nested(number: number, message: DescMessage): Write {
  const tag = tagOf(number, WireType.LengthDelimited);
  const write = writerOf(message);
  return (value, depth) => {
    if (!isJsonObject(value)) return false;
    output.varint(tag);
    const start = output.open();
    if (!write(value, depth + 1)) return false;
    output.close(start);
    return true;
  };
}

function listWriter(field: DescField & { fieldKind: 'list' }): Write {
  const item = itemWriter(field);
  return (value, depth) => {
    if (!Array.isArray(value)) return false;
    for (let at = 0; at < value.length; at += 1) if (!item(value[at], depth)) return false;
    return true;
  };
}

function itemWriter(field: DescField & { fieldKind: 'list' }): Write {
  if (field.listKind === 'message')
    return field.delimitedEncoding ? refuse : nested(field.number, field.message);
  return field.scalar === ScalarType.STRING ? textWriter(field.number) : refuse;
}

/** Field numbers of an entry of a map. */
const keyNumber = 1;
const valueNumber = 2;

function mapWriter(field: DescField & { fieldKind: 'map' }): Write {
  const tag = tagOf(field.number, WireType.LengthDelimited);
  const value = entryValueWriter(field);
  if (field.mapKey !== ScalarType.STRING) return refuse;
  const key = textWriter(keyNumber);
  return (entries, depth) => {
    if (!isJsonObject(entries)) return false;
    for (const name of Object.keys(entries)) {
      output.varint(tag);
      const start = output.open();
      if (!key(name, depth) || !value(entries[name], depth)) return false;
      output.close(start);
    }
    return true;
  };
}

function entryValueWriter(field: DescField & { fieldKind: 'map' }): Write {
  if (field.mapKind === 'message') return nested(valueNumber, field.message);
  return field.scalar === ScalarType.STRING ? textWriter(valueNumber) : refuse;
}
