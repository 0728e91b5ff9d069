import { limits, StatusError } from '../../base/index.js';

/** The error for a body that is not what JSON bodies are. */
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

/** Without it no name is `__proto__`: a reviver, which is called for each value, costs as much as the rest of parsing. */
const protoName = /__proto__|\\u00/i;

function withoutProto(key: string, value: unknown): unknown {
  if (key === '__proto__') throw malformedBody('the body has a field named __proto__');
  return value;
}

/**
 * Parses a JSON body. Nesting and the number of values are bounded before the parser recurses, and `__proto__` is refused so
 * that no later copy can change a prototype.
 * @throws StatusError InvalidArgument.
 */
export function parseBody(text: string): unknown {
  let depth = 0;
  // A value has a comma before it, or is the first of its list or object.
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
      depth += 1;
      if (depth > limits.jsonDepthMax)
        throw malformedBody(`the body is nested deeper than ${limits.jsonDepthMax} levels`);
    } else if (char === 0x7d || char === 0x5d) depth -= 1;
  }
  if (items > limits.requestItemsMax) throw tooManyItems(items);
  try {
    return protoName.test(text) ? JSON.parse(text, withoutProto) : JSON.parse(text);
  } catch (error) {
    if (error instanceof StatusError) throw error;
    throw malformedBody(`the body is not JSON: ${error instanceof Error ? error.message : ''}`);
  }
}
