import { StatusError } from '../../base/index.js';
import { BodyScan, malformedBody, notJson } from './body-scan.js';
import { jsonPartCharacters, TurnParser } from './turn-parser.js';

/**
 * Whether a text may have a field `__proto__`, literally or with escapes. Only then a reviver looks for it: it is
 * called for each value, which costs as much as the rest of parsing.
 */
function mayNameProto(text: string): boolean {
  return text.includes('__proto__') || text.includes('\\u00');
}

function withoutProto(key: string, value: unknown): unknown {
  if (key === '__proto__') throw malformedBody('the body has a field named __proto__; remove it');
  return value;
}

/** Returns a parser for parts of a body. */
function parserOf(body: string): (text: string) => unknown {
  return mayNameProto(body)
    ? (text) => JSON.parse(text, withoutProto) as unknown
    : (text) => JSON.parse(text) as unknown;
}

/** Characters of a long body that are scanned in one turn of the event loop, except for a longer string. */
const scanCharacters = 65_536;

/**
 * Parses a JSON body. Nesting and the number of values are bounded before the parser recurses, and `__proto__` is
 * refused so that no later copy can change a prototype.
 * @throws StatusError InvalidArgument.
 */
export function parseBody(text: string): unknown {
  new BodyScan(text).step(text.length);
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
  const scan = new BodyScan(text);
  while (!scan.step(scanCharacters)) await turn();
  await turn();
  const parse = parserOf(text);
  try {
    return await new TurnParser(text, scan.ends, parse, turn).value();
  } catch (error) {
    if (error instanceof StatusError) throw error;
    throw notJson(error instanceof Error ? error.message : '');
  }
}
