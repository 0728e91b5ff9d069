import { BinaryReader, WireType } from '@bufbuild/protobuf/wire';
import { type FieldViolation, invalid } from '../base/index.js';
import { type EnumNumbers, enumNumbersOf } from './enum-values.js';
import { malformed, requireWithin } from './malformed.js';
import type { DescField, DescMessage } from './schema-registry.js';
import { entryWireTypes, isWholePack, packableWireType, wireTypeOf } from './wire-types.js';
import { skipValue } from './skip-value.js';

/** The shape of a field's value; null if it has no fields. */
type Inner = Shape | null;

interface Field {
  readonly name: string;
  readonly inner: Inner;
  readonly type: WireType;
  /** The wire type of its items, if they may be packed. */
  readonly packed?: WireType | undefined;
  /** The numbers of its values, if it is an enum. */
  readonly numbers?: EnumNumbers | undefined;
}

/** The fields of a message, or of an entry of a map, by number. */
interface Shape {
  readonly name: string;
  readonly fields: Map<number, Field>;
}

/** Maximum number of reported fields per request, and of levels in a path. */
const reportedMax = 10;
const levelsMax = 16;

const shapes = new WeakMap<DescMessage, Shape>();

function shapeOf(message: DescMessage): Shape {
  const known = shapes.get(message);
  if (known) return known;
  const shape: Shape = { name: message.typeName, fields: new Map() };
  // Set before its fields are visited, because a message may contain itself.
  shapes.set(message, shape);
  for (const field of message.fields) {
    const { jsonName: name, number } = field;
    const value = field.message ? shapeOf(field.message) : null;
    const inner = field.fieldKind === 'map' ? entryOf(field, value) : value;
    shape.fields.set(number, {
      name,
      inner,
      type: wireTypeOf(field),
      packed: packableWireType(field),
      numbers: field.enum && field.fieldKind !== 'map' ? enumNumbersOf(field.enum) : undefined,
    });
  }
  return shape;
}

function entryOf(map: DescField & { fieldKind: 'map' }, value: Inner): Shape {
  const types = entryWireTypes(map);
  const numbers = map.enum && enumNumbersOf(map.enum);
  return {
    name: `an entry of ${map.parent.typeName}.${map.jsonName}`,
    fields: new Map([
      [1, { name: 'key', inner: null, type: types.key }],
      [2, { name: 'value', inner: value, type: types.value, numbers }],
    ]),
  };
}

/**
 * Finds the unknown fields of a message, and the numbers that its enums do not have. It reads tags, lengths and enums;
 * nothing else is decoded.
 */
class Scan {
  readonly found: FieldViolation[] = [];
  readonly #bytes: Uint8Array;
  readonly #reader: BinaryReader;
  /** Names of the fields that lead to the current position. */
  readonly #path: string[] = [];
  /** The enums of which a number was reported: a list may have thousands of unknown numbers. */
  readonly #reportedEnums = new Set<Field>();

  constructor(bytes: Uint8Array) {
    this.#bytes = bytes;
    this.#reader = new BinaryReader(bytes);
  }

  /** Reads a message up to `end`, or until the maximum of findings. @throws Error for malformed bytes */
  read({ name, fields }: Shape, end: number): void {
    const reader = this.#reader;
    // A field that occurs thousands of times is reported once; the text of its path costs more than its reading.
    let unknown: number | undefined;
    while (reader.pos < end) {
      const [number, type] = reader.tag();
      const field = fields.get(number);
      if (!field) {
        if (number !== unknown) this.#reportField(name, number);
        unknown = number;
      }
      // The decoder reads a value by the type of its field, not by its wire type, and would continue at a wrong
      // position.
      else if (
        type !== field.type &&
        (type !== WireType.LengthDelimited || field.packed === undefined)
      )
        throw this.#mistyped(field, type);
      if (this.found.length === reportedMax) return;
      if (field?.numbers && type === WireType.Varint) {
        this.#readEnum(field, field.numbers);
        requireWithin(reader.pos, end);
        continue;
      }
      if (type !== WireType.LengthDelimited) {
        skipValue(reader, this.#bytes, type, number);
        requireWithin(reader.pos, end);
        continue;
      }
      // Instead of `skip`, which allocates a view of the skipped bytes.
      const past = reader.uint32() + reader.pos;
      requireWithin(past, end);
      if (
        field?.packed !== undefined &&
        !isWholePack(field.packed, this.#bytes.subarray(reader.pos, past))
      )
        throw new Error(`${this.#at(field.name)} ends within an item`);
      if (field?.numbers)
        while (reader.pos < past) {
          this.#readEnum(field, field.numbers);
          if (this.found.length === reportedMax) return;
        }
      if (field?.inner) {
        this.#path.push(field.name);
        this.read(field.inner, past);
        this.#path.pop();
        if (this.found.length === reportedMax) return;
      }
      reader.pos = past;
    }
  }

  #mistyped(field: Field, type: WireType): Error {
    return new Error(
      `${this.#at(field.name)} has the wire type ${type} instead of ${field.type}; encode the request with the .proto files of this API`,
    );
  }

  #at(name: string): string {
    const place = this.#path.slice(0, levelsMax);
    if (this.#path.length > levelsMax) place.push('...');
    return [...place, name].join('.');
  }

  #readEnum(field: Field, numbers: EnumNumbers): void {
    const number = this.#reader.int32();
    if (numbers.has(number) || this.#reportedEnums.has(field)) return;
    this.#reportedEnums.add(field);
    this.#report(this.#at(field.name), numbers.description(number));
  }

  #reportField(message: string, number: number): void {
    const description = `${message} has no field with number ${number}; omit it, or use a server with an API that has the field`;
    this.#report(this.#at(String(number)), description);
  }

  #report(field: string, description: string): void {
    if (this.found.some((reported) => reported.field === field)) return;
    this.found.push({ field, description });
  }
}

/**
 * Refuses a message with fields, or with numbers of enum values, that the API does not have, at any depth. (A JSON body
 * with unknown names is refused too.) In a JSON value (`google.protobuf.Struct`), any name is accepted, but not an
 * unknown field number. The content of `google.protobuf.Any` is not checked.
 * @throws StatusError InvalidArgument. It names the first ten fields, each with its message or enum; for malformed bytes
 * its reason is MalformedMessage
 */
export function requireKnownFields(message: DescMessage, bytes: Uint8Array): void {
  const scan = new Scan(bytes);
  try {
    scan.read(shapeOf(message), bytes.length);
  } catch (error) {
    // The decoder accepts some malformed bytes, with fields that were not found here.
    throw malformed(message, error);
  }
  if (scan.found.length > 0) throw invalid(scan.found);
}
