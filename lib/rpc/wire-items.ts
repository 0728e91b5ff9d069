import { BinaryReader, WireType } from '@bufbuild/protobuf/wire';
import { limits, StatusError } from '../base/index.js';
import { demandWithin, malformed } from './malformed.js';
import type { DescField, DescMessage } from './schema-registry.js';

const fieldsByNumber = new WeakMap<DescMessage, ReadonlyMap<number, DescField>>();

function fieldsOf(message: DescMessage): ReadonlyMap<number, DescField> {
  let fields = fieldsByNumber.get(message);
  if (!fields) {
    fields = new Map(message.fields.map((field) => [field.number, field]));
    fieldsByNumber.set(message, fields);
  }
  return fields;
}

/** A map's entry on the wire: a message of which only the value may be a message. */
interface Entry {
  readonly value: DescMessage | undefined;
}

/** The value of an entry, and how many fields an entry has. */
const valueNumber = 2;
const entryFields = 2;

/**
 * Counts what the decoder would make an object or a list item of, without making it: nested messages,
 * entries of maps, items of lists, fields that the message does not have, and values of one field that
 * replace each other.
 */
class Counter {
  readonly #reader: BinaryReader;
  readonly #max: number;
  #count = 0;

  constructor(bytes: Uint8Array, max: number) {
    this.#reader = new BinaryReader(bytes);
    this.#max = max;
  }

  /** Whether the bytes up to `end` bring the count of items above the maximum. */
  exceeds(of: DescMessage | Entry, end: number): boolean {
    const reader = this.#reader;
    const once = 'fields' in of ? of.fields.length : entryFields;
    let single = 0;
    while (reader.pos < end) {
      const [number, type] = reader.tag();
      const before = this.#count;
      const inner =
        'fields' in of ? this.#step(fieldsOf(of).get(number), type) : entryStep(of, number);
      // A field of one value that comes again replaces the value before, which was decoded anyway.
      if (inner === undefined && this.#count === before) {
        single += 1;
        if (single > once) this.#count += 1;
      }
      if (this.#count > this.#max) return true;
      if (type !== WireType.LengthDelimited) {
        reader.skip(type, number);
        demandWithin(reader.pos, end);
        continue;
      }
      // Not `skip`, which makes a view of what it passes over.
      const past = reader.uint32() + reader.pos;
      demandWithin(past, end);
      if (inner !== undefined && this.exceeds(inner, past)) return true;
      reader.pos = past;
    }
    return false;
  }

  /** Counts a field's value; returns what to look into. */
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

  /** At most: an item takes a byte or more. */
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

/** Numbers, booleans and enums may stand in one run of bytes; texts and bytes do not. */
function packed(field: DescField, type: WireType): boolean {
  if (type !== WireType.LengthDelimited || field.fieldKind !== 'list') return false;
  const text = 9;
  const bytes = 12;
  return field.listKind === 'enum' || ![text, bytes].includes(field.scalar as number);
}

/**
 * Refuses a message that would decode into more objects than a request may have: two bytes make one.
 * @throws StatusError InvalidArgument (TooManyItems, MalformedMessage)
 */
export function demandFewItems(message: DescMessage, bytes: Uint8Array): void {
  // Each takes two bytes at least.
  if (bytes.length <= limits.requestItemsMax * 2) return;
  let exceeds: boolean;
  try {
    exceeds = new Counter(bytes, limits.requestItemsMax).exceeds(message, bytes.length);
  } catch (error) {
    // The decoder takes some of what is malformed, and would make what was not counted.
    throw malformed(message, error);
  }
  if (!exceeds) return;
  throw new StatusError({
    code: 'InvalidArgument',
    reason: 'TooManyItems',
    message: `the request has more than ${limits.requestItemsMax} nested objects, list items and map entries, which is the maximum of a request; split it`,
  });
}
