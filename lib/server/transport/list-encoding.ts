import { type Clock, TimeSlice } from '../../base/index.js';
import type { DescMessage, JsonObject, MethodInfo, SchemaRegistry } from '../../rpc/index.js';

/** Lists of up to this many items are encoded at once. */
export const wholeItemsMax = 64;
const chunkCharacters = 64 * 1024;

/** The items of a long list answer; undefined for other answers. */
export function longItems(
  method: MethodInfo,
  answer: JsonObject,
): readonly JsonObject[] | undefined {
  if (method.standard?.verb !== 'List' || !Array.isArray(answer.items)) return undefined;
  return answer.items.length > wholeItemsMax ? (answer.items as readonly JsonObject[]) : undefined;
}

function itemsField(output: DescMessage): { readonly number: number; readonly item: DescMessage } {
  const field = output.fields.find((f) => f.jsonName === 'items');
  if (field?.fieldKind !== 'list' || field.listKind !== 'message')
    throw new TypeError(`${output.typeName} has no items`);
  return { number: field.number, item: field.message };
}

/** Encodes a number as a protobuf varint. */
export function varint(value: number): number[] {
  const bytes: number[] = [];
  for (let rest = value; ; rest = Math.floor(rest / 128)) {
    if (rest < 128) return [...bytes, rest];
    bytes.push((rest % 128) + 128);
  }
}

/**
 * Encodes a long list as protobuf, item by item with pauses for other work. The concatenation of encoded messages is
 * their merge, so a repeated field may be split.
 */
export async function encodeList(
  schemas: SchemaRegistry,
  output: DescMessage,
  answer: JsonObject,
  items: readonly JsonObject[],
  clock: Clock,
): Promise<Buffer> {
  const { number, item: message } = itemsField(output);
  const tag = varint(number * 8 + 2);
  const slice = new TimeSlice(clock, { everyStep: true });
  const parts: Uint8Array[] = [];
  for (const item of items) {
    if (slice.due()) await slice.pause();
    const bytes = schemas.encode(message, item);
    parts.push(Uint8Array.from([...tag, ...varint(bytes.length)]), bytes);
  }
  parts.push(schemas.encode(output, { ...answer, items: [] }));
  return Buffer.concat(parts);
}

/** Encodes a long list as JSON, in pieces. */
export async function* listText(
  answer: JsonObject,
  items: readonly JsonObject[],
  clock: Clock,
): AsyncIterable<string> {
  const { items: _, ...rest } = answer;
  const slice = new TimeSlice(clock, { everyStep: true });
  let text = '{"items":[';
  for (const [at, item] of items.entries()) {
    if (slice.due()) await slice.pause();
    text += at === 0 ? JSON.stringify(item) : `,${JSON.stringify(item)}`;
    if (text.length < chunkCharacters) continue;
    yield text;
    text = '';
  }
  const tail = JSON.stringify(rest);
  yield `${text}]${tail === '{}' ? '' : `,${tail.slice(1, -1)}`}}`;
}
