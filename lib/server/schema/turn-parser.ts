import { endOfString } from './json-string.js';

/** Characters of a JSON text after which the rest is parsed in a later turn of the event loop. */
export const jsonPartCharacters = 16_384;

const quote = 0x22;
const comma = 0x2c;
const curly = 0x7b;
const square = 0x5b;
const closingCurly = 0x7d;
const closingSquare = 0x5d;

type Fields = Record<string, unknown>;

/**
 * Parses a long JSON text in parts, between which `turn` is awaited. The members of each list or object that is
 * longer than a part are parsed in groups, by the same parser as a short text. A long member is parsed member by
 * member.
 */
export class TurnParser {
  readonly #text: string;
  readonly #ends: ReadonlyMap<number, number>;
  readonly #parse: (text: string) => unknown;
  readonly #turn: () => Promise<void>;

  /** @param ends positions of the closing brackets of all long lists and objects, by those of the opening ones */
  constructor(
    text: string,
    ends: ReadonlyMap<number, number>,
    parse: (text: string) => unknown,
    turn: () => Promise<void>,
  ) {
    this.#text = text;
    this.#ends = ends;
    this.#parse = parse;
    this.#turn = turn;
  }

  /** Parses the text. @throws Error for a text that is not JSON, and errors of the parser */
  async value(): Promise<unknown> {
    const start = this.#text.search(/[^ \t\n\r]/);
    const end = this.#ends.get(start);
    if (end === undefined) return this.#parse(this.#text);
    this.#requireBlank(end + 1, this.#text.length);
    return this.#members(start, end);
  }

  /** Parses the list or object between two brackets. @throws SyntaxError */
  async #members(start: number, end: number): Promise<unknown> {
    const isList = this.#text.charCodeAt(start) === square;
    if (this.#text.charCodeAt(end) !== this.#text.charCodeAt(start) + 2)
      throw new SyntaxError(`the bracket at character ${end} does not match that at ${start}`);
    const list: unknown[] = [];
    const fields: Fields = {};
    const take = (part: unknown): void => {
      if (isList) for (const item of part as readonly unknown[]) list.push(item);
      else Object.assign(fields, part);
    };
    /** The start of the members that are not parsed yet. */
    let first = start + 1;
    let from = first;
    for (;;) {
      const { to, long } = this.#member(from, end);
      // A member without a long list or object may still be a long string.
      if (to - from > jsonPartCharacters) await this.#turn();
      const isLast = to === end;
      if (long !== undefined) {
        if (first < from) take(this.#group(first, from - 1, isList));
        take(await this.#longMember(from, long, to, isList));
        first = to + 1;
      } else if (isLast || to - first > jsonPartCharacters) {
        const isEmpty = isLast && first === start + 1 && this.#isBlank(first, to);
        if (!isEmpty) take(this.#group(first, to, isList));
        await this.#turn();
        first = to + 1;
      }
      if (isLast) return isList ? list : fields;
      from = to + 1;
    }
  }

  /** Finds the end of the member that starts at `from`, and the start of the long list or object in it, if any. */
  #member(from: number, end: number): { readonly to: number; readonly long?: number } {
    const text = this.#text;
    let long: number | undefined;
    let depth = 0;
    let at = from;
    for (; at < end; at += 1) {
      const char = text.charCodeAt(at);
      if (char === quote) at = endOfString(this.#text, at);
      else if (char === comma && depth === 0) break;
      else if (char === curly || char === square) {
        const past = this.#ends.get(at);
        if (past === undefined) depth += 1;
        else {
          long ??= at;
          at = past;
        }
      } else if (char === closingCurly || char === closingSquare) depth -= 1;
    }
    return long === undefined ? { to: at } : { to: at, long };
  }

  /** Parses consecutive members, without the comma after them. @throws SyntaxError */
  #group(from: number, to: number, isList: boolean): unknown {
    const part = this.#text.slice(from, to);
    if (this.#isBlank(from, to)) throw new SyntaxError(`a value is missing before character ${to}`);
    try {
      return this.#parse(isList ? `[${part}]` : `{${part}}`);
    } catch (error) {
      if (!(error instanceof SyntaxError)) throw error;
      throw new SyntaxError(`there is an error between characters ${from} and ${to}`);
    }
  }

  async #longMember(from: number, start: number, to: number, isList: boolean): Promise<unknown> {
    const end = this.#ends.get(start) ?? to;
    this.#requireBlank(end + 1, to);
    if (isList) {
      this.#requireBlank(from, start);
      return [await this.#members(start, end)];
    }
    // The name with its colon, as the only field of an object.
    const field = this.#parse(`{${this.#text.slice(from, start)}null}`) as Fields;
    const [name = ''] = Object.keys(field);
    return { [name]: await this.#members(start, end) };
  }

  #isBlank(from: number, to: number): boolean {
    return /^[ \t\n\r]*$/.test(this.#text.slice(from, to));
  }

  #requireBlank(from: number, to: number): void {
    if (!this.#isBlank(from, to))
      throw new SyntaxError(`there is an error between characters ${from} and ${to}`);
  }
}
