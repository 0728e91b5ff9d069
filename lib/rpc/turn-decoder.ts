import { BinaryReader, WireType } from '@bufbuild/protobuf/wire';
import { type DescField, type DescMessage, ScalarType } from '@bufbuild/protobuf';
import { isJsonObject } from './json.js';
import { isJsonMessage } from './json-form.js';
import { requireWithin } from './malformed.js';

/** Bytes that are decoded in one turn of the event loop. */
const partBytes = 16_384;
/** Levels of nested messages, as in the decoder of whole messages. */
const depthMax = 100;

const valueMessage = 'google.protobuf.Value';
/** Messages with a JSON form of their own, such as `Any` and `FieldMask`. Long ones are decoded as a whole. */
const wellKnown = /^google\.protobuf\./;

/** The JSON form of a message of bounded size. */
type DecodePart = (message: DescMessage, bytes: Uint8Array) => unknown;

/** Encoded messages whose concatenation is the message that they merge to. */
type Parts = readonly Uint8Array[];

/** A field on the wire: tag and value, and the content of a value that has a length. */
interface WireField {
  readonly number: number;
  readonly whole: Uint8Array;
  readonly content: Uint8Array | undefined;
}

function* wireFields(parts: Parts): Generator<WireField, void, void> {
  for (const bytes of parts) {
    const reader = new BinaryReader(bytes);
    while (reader.pos < bytes.length) {
      const start = reader.pos;
      const [number, type] = reader.tag();
      const hasLength = type === WireType.LengthDelimited;
      const content = hasLength ? reader.bytes() : undefined;
      if (!hasLength) reader.skip(type, number);
      requireWithin(reader.pos, bytes.length);
      yield { number, whole: bytes.subarray(start, reader.pos), content };
    }
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
 * Decodes long messages in parts of bounded size, between which `turn` is awaited. Concatenated encoded messages are
 * the message that they merge to, so elements of lists and maps can be decoded separately.
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
    let last: WireField | undefined;
    let contents: Uint8Array[] = [];
    for (const field of wireFields(parts)) {
      const known = message.fields.find(({ number }) => number === field.number);
      if (!known) continue;
      if (known.message && !field.content) throw new Error(`${known.name} is not a message`);
      if (field.number !== last?.number) contents = [];
      if (field.content) contents.push(field.content);
      last = field;
    }
    const desc = message.fields.find(({ number }) => number === last?.number);
    return desc?.message
      ? this.json(desc.message, contents, depth + 1)
      : Promise.resolve(this.#decode(message, last?.whole ?? new Uint8Array()));
  }

  async #fields(message: DescMessage, parts: Parts, depth: number): Promise<unknown> {
    const fields = new Map(message.fields.map((field) => [field.number, field]));
    const nested = new Map<DescField, Uint8Array[]>();
    const elements = new Elements();
    const others: Uint8Array[] = [];
    let waiting: Uint8Array[] = [];
    let waitingBytes = 0;
    const flush = async (): Promise<void> => {
      elements.merge(named(message, this.#decode(message, joined(waiting))));
      waiting = [];
      waitingBytes = 0;
      await this.#turn();
    };
    for (const { number, whole, content } of wireFields(parts)) {
      const field = fields.get(number);
      if (content && field?.fieldKind === 'message' && !field.oneof) {
        pushTo(nested, field, content);
      } else if (field?.fieldKind !== 'list' && field?.fieldKind !== 'map') {
        others.push(whole);
      } else if (content && field.message && whole.length > partBytes && hasTextKey(field)) {
        await flush();
        elements.merge({ [field.jsonName]: await this.#element(field, content, depth + 1) });
      } else {
        waiting.push(whole);
        waitingBytes += whole.length;
        if (waitingBytes > partBytes) await flush();
      }
    }
    await flush();
    if (isJsonMessage(message)) return Object.values(elements.json)[0];
    const rest = this.#decode(message, joined(others));
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

/** Whether a field is not a map with keys other than strings. Elements of such a map are decoded as a whole. */
function hasTextKey(field: DescField): boolean {
  return field.fieldKind !== 'map' || field.mapKey === ScalarType.STRING;
}

/** The JSON form of a message by field. A message that represents JSON has its only field as value. */
function named(message: DescMessage, json: unknown): Record<string, unknown> {
  const [only] = message.fields;
  if (isJsonMessage(message) && only) return { [only.jsonName]: json };
  return isJsonObject(json) ? { ...json } : {};
}
