import { limits, StatusError } from '../../base/index.js';
import { endOfString } from './json-string.js';
import { jsonPartCharacters } from './turn-parser.js';

/** The error for a malformed or too large JSON body. */
export function malformedBody(message: string): StatusError {
  return new StatusError({ code: 'InvalidArgument', reason: 'MalformedBody', message });
}

/** The error for a body that is not JSON. */
export function notJson(why: string): StatusError {
  return malformedBody(`the body is not JSON: ${why}`);
}

function tooManyItems(count: number): StatusError {
  return new StatusError({
    code: 'InvalidArgument',
    reason: 'TooManyItems',
    message: `the body has up to ${count} values, and at most ${limits.requestItemsMax} are allowed; split it`,
  });
}

/** Bounds nesting and the number of values of a JSON text before a parser recurses. A long text is scanned in steps. */
export class BodyScan {
  /**
   * The position of the closing bracket of every list and object that is longer than a part, by that of its opening
   * bracket; brackets of both kinds count as equal.
   */
  readonly ends = new Map<number, number>();
  readonly #text: string;
  readonly #open: number[] = [];
  /** Each value has a comma before it, or is the first of its list or object. */
  #items = 0;
  #at = 0;

  constructor(text: string) {
    this.#text = text;
  }

  /**
   * Scans the next characters, and to the end of a string that reaches beyond them.
   * @returns whether the whole text is scanned
   * @throws StatusError InvalidArgument.
   */
  step(characters: number): boolean {
    const text = this.#text;
    let at = this.#at;
    const most = Math.min(at + characters, text.length);
    for (; at < most; at += 1) {
      const char = text.charCodeAt(at);
      if (char === 0x22) at = endOfString(text, at);
      else if (char === 0x2c) this.#items += 1;
      else if (char === 0x7b || char === 0x5b) this.#enter(at);
      else if (char === 0x7d || char === 0x5d) this.#leave(at);
    }
    this.#at = at;
    if (at < text.length) return false;
    if (this.#items > limits.requestItemsMax) throw tooManyItems(this.#items);
    const unclosed = this.#open.at(-1);
    if (unclosed !== undefined)
      throw notJson(`the bracket at character ${unclosed} is never closed`);
    return true;
  }

  #enter(at: number): void {
    this.#items += 1;
    this.#open.push(at);
    if (this.#open.length > limits.jsonDepthMax)
      throw malformedBody(
        `the body is nested deeper than ${limits.jsonDepthMax} levels; flatten it`,
      );
  }

  #leave(at: number): void {
    const start = this.#open.pop();
    if (start === undefined)
      throw notJson(`the bracket at character ${at} closes nothing that was opened`);
    if (at - start > jsonPartCharacters) this.ends.set(start, at);
  }
}
