import { BinaryReader, WireType } from '@bufbuild/protobuf/wire';
import { type DescField, type DescMessage, ScalarType } from '@bufbuild/protobuf';
import { isJsonObject } from './json.js';
import { isJsonMessage } from './json-form.js';
import { requireWithin } from './malformed.js';
import { skipValue } from './skip-value.js';

/** Bytes of fields that are collected before they are decoded in one turn of the event loop. */
const partBytes = 16_384;
/** Levels of nested messages, as in the decoder of whole messages. */
const depthMax = 100;

const valueMessage = 'google.protobuf.Value';
/** Messages of protobuf's own package. Long ones are decoded as a whole, except those that represent JSON. */
const wellKnown = /^google\.protobuf\./;

/** The JSON form of a message of bounded size. */
type DecodePart = (message: DescMessage, bytes: Uint8Array) => unknown;

/** Encoded messages whose concatenation is the message that they merge to. */
type Parts = readonly Uint8Array[];

/** Reads the fields of encoded messages; its positions are those of the field that was read last. */
class FieldCursor {
  number = 0;
  bytes: Uint8Array = new Uint8Array();
  start = 0;
  /** Where the content of a value with a length starts; undefined for a value without one. */
  contentStart: number | undefined;
  end = 0;
  readonly #parts: Iterator<Uint8Array>;
  #reader = new BinaryReader(this.bytes);

  constructor(parts: Parts) {
    this.#parts = parts.values();
  }

  /** Reads the next field. Returns false after the last one. @throws Error for malformed bytes */
  next(): boolean {
    while (this.#reader.pos >= this.bytes.length) {
      const part = this.#parts.next();
      if (part.done) return false;
      this.bytes = part.value;
      this.#reader = new BinaryReader(part.value);
    }
    const reader = this.#reader;
    this.start = reader.pos;
    const [number, type] = reader.tag();
    this.number = number;
    this.contentStart = undefined;
    if (type === WireType.LengthDelimited) {
      const length = reader.uint32();
      this.contentStart = reader.pos;
      reader.pos += length;
    } else skipValue(reader, this.bytes, type, number);
    this.end = reader.pos;
    requireWithin(this.end, this.bytes.length);
    return true;
  }

  content(): Uint8Array | undefined {
    const { bytes, contentStart, end } = this;
    return contentStart === undefined ? undefined : bytes.subarray(contentStart, end);
  }
}

/** Fields in wire order. Adjacent ones are one part, since a view of each costs more than its decoding. */
class Run {
  #parts: Uint8Array[] = [];
  #bytes: Uint8Array | undefined;
  #start = 0;
  #end = 0;
  length = 0;

  add({ bytes, start, end }: FieldCursor): void {
    if (this.#bytes !== bytes || this.#end !== start) {
      this.#close();
      this.#bytes = bytes;
      this.#start = start;
    }
    this.#end = end;
    this.length += end - start;
  }

  /** Returns the fields as one message, and begins the next run. */
  take(): Uint8Array {
    this.#close();
    const taken = joined(this.#parts);
    this.#parts = [];
    this.length = 0;
    return taken;
  }

  #close(): void {
    if (this.#bytes) this.#parts.push(this.#bytes.subarray(this.#start, this.#end));
    this.#bytes = undefined;
  }
}

function sizeOf(parts: Parts): number {
  return parts.reduce((sum, part) => sum + part.length, 0);
}

function joined(parts: Parts): Uint8Array {
  const [only] = parts;
  return only && parts.length === 1 ? only : Buffer.concat(parts);
}

function pushTo<K>(lists: Map<K, Uint8Array[]>, key: K, bytes: Uint8Array): void {
  const known = lists.get(key);
  if (known) known.push(bytes);
  else lists.set(key, [bytes]);
}

/** Like `Object.assign`, which would set the prototype for a field of the name `__proto__`. */
function setAll(target: Record<string, unknown>, fields: Readonly<Record<string, unknown>>): void {
  for (const [name, value] of Object.entries(fields))
    if (name !== '__proto__') target[name] = value;
    else
      Object.defineProperty(target, name, {
        value,
        configurable: true,
        enumerable: true,
        writable: true,
      });
}

/** The JSON forms of the elements of lists and maps, in wire order. */
class Elements {
  readonly json: Record<string, unknown> = {};

  /** Adds the decoded form of some elements. */
  merge(part: Readonly<Record<string, unknown>>): void {
    for (const [name, value] of Object.entries(part)) {
      const known = this.json[name];
      if (Array.isArray(known) && Array.isArray(value)) for (const item of value) known.push(item);
      else if (isJsonObject(known) && isJsonObject(value)) setAll(known, value);
      else this.json[name] = value;
    }
  }
}

/**
 * Decodes long messages in parts, and awaits `turn` between them. Concatenated encoded messages are the message that
 * they merge to, so elements of lists and maps can be decoded separately. The size of a part is bounded, except that
 * these are decoded as a whole: the scalar fields of a message, members of a oneof, long elements of maps whose keys
 * are not strings, and messages such as `google.protobuf.Any`.
 */
export class TurnDecoder {
  readonly #decode: DecodePart;
  readonly #turn: () => Promise<void>;

  constructor(decode: DecodePart, turn: () => Promise<void>) {
    this.#decode = decode;
    this.#turn = turn;
  }

  /** Decodes a message to its JSON form. @throws Error for bytes that are not a valid message of this type */
  async json(message: DescMessage, parts: Parts, depth = 1): Promise<unknown> {
    if (depth > depthMax) throw new Error(`is nested deeper than ${depthMax} levels`);
    const isWhole = wellKnown.test(message.typeName) && !isJsonMessage(message);
    if (sizeOf(parts) <= partBytes || isWhole) {
      await this.#turn();
      return this.#decode(message, joined(parts));
    }
    return message.typeName === valueMessage
      ? this.#value(message, parts, depth)
      : this.#fields(message, parts, depth);
  }

  /**
   * Decodes a `google.protobuf.Value`. Its last field is the value; occurrences of a message field are merged.
   * @throws Error for malformed content
   */
  #value(message: DescMessage, parts: Parts, depth: number): Promise<unknown> {
    let last: number | undefined;
    let whole: Uint8Array = new Uint8Array();
    let contents: Uint8Array[] = [];
    const field = new FieldCursor(parts);
    while (field.next()) {
      const known = message.fields.find(({ number }) => number === field.number);
      if (!known) continue;
      const content = known.message && field.content();
      if (known.message && !content) throw new Error(`${known.name} is not a message`);
      if (field.number !== last) contents = [];
      if (content) contents.push(content);
      else whole = field.bytes.subarray(field.start, field.end);
      last = field.number;
    }
    const desc = message.fields.find(({ number }) => number === last);
    return desc?.message
      ? this.json(desc.message, contents, depth + 1)
      : Promise.resolve(this.#decode(message, whole));
  }

  async #fields(message: DescMessage, parts: Parts, depth: number): Promise<unknown> {
    const fields = new Map(message.fields.map((field) => [field.number, field]));
    const nested = new Map<DescField, Uint8Array[]>();
    const elements = new Elements();
    const others = new Run();
    const waiting = new Run();
    const flush = async (): Promise<void> => {
      elements.merge(named(message, this.#decode(message, waiting.take())));
      await this.#turn();
    };
    const read = new FieldCursor(parts);
    while (read.next()) {
      const { number, contentStart, start, end } = read;
      const field = fields.get(number);
      const hasContent = contentStart !== undefined;
      if (hasContent && field?.fieldKind === 'message' && !field.oneof) {
        pushTo(nested, field, read.bytes.subarray(contentStart, end));
      } else if (field?.fieldKind !== 'list' && field?.fieldKind !== 'map') {
        others.add(read);
      } else if (hasContent && field.message && end - start > partBytes && hasTextKey(field)) {
        const content = read.bytes.subarray(contentStart, end);
        await flush();
        elements.merge({ [field.jsonName]: await this.#element(field, content, depth + 1) });
      } else {
        waiting.add(read);
        if (waiting.length > partBytes) await flush();
      }
    }
    await flush();
    if (isJsonMessage(message)) return Object.values(elements.json)[0];
    const rest = this.#decode(message, others.take());
    const json = { ...named(message, rest), ...elements.json };
    for (const [field, contents] of nested)
      if (field.message) json[field.jsonName] = await this.json(field.message, contents, depth + 1);
    return json;
  }

  /** One long element, decoded as a list or map that contains only this element. */
  async #element(field: DescField, content: Uint8Array, depth: number): Promise<unknown> {
    const { message } = field;
    if (!message) return [];
    if (field.fieldKind === 'list') return [await this.json(message, [content], depth)];
    const values: Uint8Array[] = [];
    let key = '';
    const reader = new BinaryReader(content);
    while (reader.pos < content.length) {
      const [number, type] = reader.tag();
      if (number === 1 && type === WireType.LengthDelimited) key = reader.string(true);
      else if (number === 2) values.push(reader.bytes());
      else reader.skip(type, number);
    }
    return Object.fromEntries([[key, await this.json(message, values, depth + 1)]]);
  }
}

/** True for all fields except maps whose keys are not strings. Elements of such maps are decoded as a whole. */
function hasTextKey(field: DescField): boolean {
  return field.fieldKind !== 'map' || field.mapKey === ScalarType.STRING;
}

/** The JSON form of a message by field. The form of a message that represents JSON is the value of its only field. */
function named(message: DescMessage, json: unknown): Record<string, unknown> {
  const [only] = message.fields;
  if (isJsonMessage(message) && only) return { [only.jsonName]: json };
  return isJsonObject(json) ? { ...json } : {};
}
