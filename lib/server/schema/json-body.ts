import { limits, StatusError } from '../../base/index.js';
import { jsonPartCharacters, TurnParser } from './turn-parser.js';

/** The error for a malformed or too large JSON body. */
export function malformedBody(message: string): StatusError {
  return new StatusError({ code: 'InvalidArgument', reason: 'MalformedBody', message });
}

function tooManyItems(count: number): StatusError {
  return new StatusError({
    code: 'InvalidArgument',
    reason: 'TooManyItems',
    message: `the body has up to ${count} values, and at most ${limits.requestItemsMax} are allowed; split it`,
  });
}

/**
 * A text without a match has no field `__proto__`: a reviver, which is called for each value, costs as much as the
 * rest of parsing.
 */
const protoName = /__proto__|\\u00/i;

function withoutProto(key: string, value: unknown): unknown {
  if (key === '__proto__') throw malformedBody('the body has a field named __proto__');
  return value;
}

/**
 * Bounds nesting and the number of values before a parser recurses.
 * @returns the position of the closing bracket of every list and object that is longer than a part, by that of its
 * opening bracket; brackets of both kinds count as equal
 * @throws StatusError InvalidArgument.
 */
function scan(text: string): ReadonlyMap<number, number> {
  const ends = new Map<number, number>();
  const open: number[] = [];
  // Each value has a comma before it, or is the first of its list or object.
  let items = 0;
  let inString = false;
  for (let at = 0; at < text.length; at += 1) {
    const char = text.charCodeAt(at);
    if (inString) {
      if (char === 0x5c) at += 1;
      else if (char === 0x22) inString = false;
    } else if (char === 0x22) inString = true;
    else if (char === 0x2c) items += 1;
    else if (char === 0x7b || char === 0x5b) {
      items += 1;
      open.push(at);
      if (open.length > limits.jsonDepthMax)
        throw malformedBody(`the body is nested deeper than ${limits.jsonDepthMax} levels`);
    } else if (char === 0x7d || char === 0x5d) {
      const start = open.pop();
      if (start === undefined)
        throw notJson(`the bracket at character ${at} closes nothing that was opened`);
      if (at - start > jsonPartCharacters) ends.set(start, at);
    }
  }
  if (items > limits.requestItemsMax) throw tooManyItems(items);
  if (open.length > 0) throw notJson(`the bracket at character ${open.at(-1)} is never closed`);
  return ends;
}

function notJson(why: string): StatusError {
  return malformedBody(`the body is not JSON: ${why}`);
}

/** Returns a parser for parts of a body. */
function parserOf(body: string): (text: string) => unknown {
  return protoName.test(body)
    ? (text) => JSON.parse(text, withoutProto) as unknown
    : (text) => JSON.parse(text) as unknown;
}

/**
 * Parses a JSON body. Nesting and the number of values are bounded before the parser recurses, and `__proto__` is refused so
 * that no later copy can change a prototype.
 * @throws StatusError InvalidArgument.
 */
export function parseBody(text: string): unknown {
  scan(text);
  try {
    return parserOf(text)(text);
  } catch (error) {
    if (error instanceof StatusError) throw error;
    throw notJson(error instanceof Error ? error.message : '');
  }
}

/**
 * Like {@link parseBody}, for a long body: `turn` is awaited between parts of bounded size.
 * @throws StatusError InvalidArgument.
 */
export async function parseBodyInTurns(text: string, turn: () => Promise<void>): Promise<unknown> {
  if (text.length <= jsonPartCharacters) return parseBody(text);
  const ends = scan(text);
  await turn();
  const parse = parserOf(text);
  await turn();
  try {
    return await new TurnParser(text, ends, parse, turn).value();
  } catch (error) {
    if (error instanceof StatusError) throw error;
    throw notJson(error instanceof Error ? error.message : '');
  }
}
