import { type Clock, TimeSlice } from '../../base/index.js';
import { hasStoredItems } from '../api/stored-items.js';
import type { DescMessage, JsonObject, MethodInfo, SchemaRegistry } from '../../rpc/index.js';

/** Lists of up to this many items are encoded at once. */
export const wholeItemsMax = 64;
/** Items that are encoded in one step. */
const partItems = 32;
const chunkCharacters = 64 * 1024;

/**
 * The items of a list answer that must be encoded in parts, or that have the form of the store; undefined for others.
 */
export function longItems(
  method: MethodInfo,
  answer: JsonObject,
): readonly JsonObject[] | undefined {
  if (method.standard?.verb !== 'List' || !Array.isArray(answer.items)) return undefined;
  const whole = answer.items.length <= wholeItemsMax && !hasStoredItems(answer);
  return whole ? undefined : (answer.items as readonly JsonObject[]);
}

/**
 * Encodes a long list as protobuf, some items at a time with pauses for other work. The concatenation of encoded
 * messages is their merge, so a repeated field may be split.
 */
export async function encodeList(
  schemas: SchemaRegistry,
  output: DescMessage,
  answer: JsonObject,
  items: readonly JsonObject[],
  clock: Clock,
): Promise<Buffer> {
  const slice = new TimeSlice(clock, { everyStep: true });
  const asStored = hasStoredItems(answer);
  const parts: Uint8Array[] = [];
  for (let at = 0; at < items.length; at += partItems) {
    if (slice.due()) await slice.pause();
    const part = { items: items.slice(at, at + partItems) };
    parts.push(asStored ? schemas.encodeStored(output, part) : schemas.encodeAnswer(output, part));
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
