import { BinaryReader, WireType } from '@bufbuild/protobuf/wire';
import { limits, StatusError } from '../base/index.js';
import { malformed, requireWithin } from './malformed.js';
import type { DescField, DescMessage } from './schema-registry.js';
import { skipValue } from './skip-value.js';

const fieldsByNumber = new WeakMap<DescMessage, ReadonlyMap<number, DescField>>();

function fieldsOf(message: DescMessage): ReadonlyMap<number, DescField> {
  let fields = fieldsByNumber.get(message);
  if (!fields) {
    fields = new Map(message.fields.map((field) => [field.number, field]));
    fieldsByNumber.set(message, fields);
  }
  return fields;
}

/** An entry of a map on the wire: a message in which only the value may be a message. */
interface Entry {
  readonly value: DescMessage | undefined;
}

/** Field number of the value of an entry, and the number of fields of an entry. */
const valueNumber = 2;
const entryFields = 2;

/**
 * Counts, without decoding, the objects and list items that the decoder would create: nested messages, entries of
 * maps, items of lists, unknown fields, and values of one field that replace each other.
 */
class Counter {
  readonly #bytes: Uint8Array;
  readonly #reader: BinaryReader;
  readonly #max: number;
  #count = 0;

  constructor(bytes: Uint8Array, max: number) {
    this.#bytes = bytes;
    this.#reader = new BinaryReader(bytes);
    this.#max = max;
  }

  /** Whether the bytes up to `end` raise the count of items above the maximum. */
  exceeds(of: DescMessage | Entry, end: number): boolean {
    const reader = this.#reader;
    const once = 'fields' in of ? of.fields.length : entryFields;
    let single = 0;
    while (reader.pos < end) {
      const [number, type] = reader.tag();
      const before = this.#count;
      const inner =
        'fields' in of ? this.#step(fieldsOf(of).get(number), type) : entryStep(of, number);
      // A repeated singular field replaces its earlier value, which was decoded nevertheless.
      if (inner === undefined && this.#count === before) {
        single += 1;
        if (single > once) this.#count += 1;
      }
      if (this.#count > this.#max) return true;
      if (type !== WireType.LengthDelimited) {
        skipValue(reader, this.#bytes, type, number);
        requireWithin(reader.pos, end);
        continue;
      }
      // Instead of `skip`, which allocates a view of the skipped bytes.
      const past = reader.uint32() + reader.pos;
      requireWithin(past, end);
      if (inner !== undefined && this.exceeds(inner, past)) return true;
      reader.pos = past;
    }
    return false;
  }

  /** Counts the value of a field. Returns the type of the value if its fields must be counted too. */
  #step(field: DescField | undefined, type: WireType): DescMessage | Entry | undefined {
    if (!field) {
      this.#count += 1;
      return undefined;
    }
    switch (field.fieldKind) {
      case 'scalar':
      case 'enum':
        return undefined;
      case 'message':
        this.#count += 1;
        return field.message;
      case 'map':
        this.#count += 1;
        return { value: field.message };
      case 'list':
        if (field.message) {
          this.#count += 1;
          return field.message;
        }
        this.#count += packed(field, type) ? this.#packedItems() : 1;
        return undefined;
    }
  }

  /** Returns an upper bound of the items of a packed list, which is its length: an item takes a byte or more. */
  #packedItems(): number {
    const { pos } = this.#reader;
    const length = this.#reader.uint32();
    this.#reader.pos = pos;
    return length;
  }
}

function entryStep({ value }: Entry, number: number): DescMessage | undefined {
  return number === valueNumber ? value : undefined;
}

/** True for a packed list: numbers, booleans and enums may be packed, strings and bytes not. */
function packed(field: DescField, type: WireType): boolean {
  if (type !== WireType.LengthDelimited || field.fieldKind !== 'list') return false;
  const text = 9;
  const bytes = 12;
  return field.listKind === 'enum' || ![text, bytes].includes(field.scalar as number);
}

/**
 * Refuses a message that would decode into more than `limits.requestItemsMax` objects and list items, or twice as many
 * numbers of packed lists. An object takes as few as two bytes.
 * @throws StatusError InvalidArgument (TooManyItems, MalformedMessage)
 */
export function requireFewItems(message: DescMessage, bytes: Uint8Array): void {
  // Each item takes two bytes or more. Numbers of packed lists may take one: up to twice as many are accepted here.
  if (bytes.length <= limits.requestItemsMax * 2) return;
  let exceeds: boolean;
  try {
    exceeds = new Counter(bytes, limits.requestItemsMax).exceeds(message, bytes.length);
  } catch (error) {
    // The decoder accepts some malformed bytes, and would create objects that were not counted.
    throw malformed(message, error);
  }
  if (!exceeds) return;
  throw new StatusError({
    code: 'InvalidArgument',
    reason: 'TooManyItems',
    message: `the request has more than ${limits.requestItemsMax} nested objects, list items and map entries, which is the maximum of a request; split it`,
  });
}
