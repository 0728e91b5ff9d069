import { invalid, type StatusError } from 'kedge/objects';

/** One step of a path. */
export type Segment =
  | { readonly type: 'field'; readonly name: string }
  | { readonly type: 'index'; readonly index: number }
  | { readonly type: 'slice'; readonly from: number | undefined; readonly to: number | undefined }
  | { readonly type: 'all' }
  | { readonly type: 'filter'; readonly path: Path; readonly test: FilterTest | undefined };

/** The comparison of a filter. */
export interface FilterTest {
  readonly operator: '==' | '!=' | '<' | '<=' | '>' | '>=';
  readonly value: string | number | boolean | null;
}

/** A path from the whole document, or from the present item of a range or filter. */
export interface Path {
  readonly from: 'root' | 'current';
  readonly segments: readonly Segment[];
}

/** A part of a template. */
export type Part =
  | { readonly type: 'text'; readonly text: string }
  | { readonly type: 'path'; readonly path: Path }
  | { readonly type: 'range'; readonly path: Path; readonly body: readonly Part[] };

/** A parsed template. */
export type Template = readonly Part[];

const lengthMax = 4_096;
const depthMax = 8;
const escapes: Readonly<Record<string, string>> = { n: '\n', t: '\t', r: '\r' };
const operators = ['==', '!=', '<=', '>=', '<', '>'] as const;

/** A parser of one template; it can be used once. */
export class JsonPathParser {
  readonly #text: string;
  #at = 0;

  /** @throws StatusError InvalidArgument for a text that is too long */
  constructor(text: string) {
    this.#text = text;
    if (text.length > lengthMax) throw this.#refuse(`has more than ${lengthMax} characters`);
  }

  /** Parses the template. @throws StatusError InvalidArgument with the place */
  template(): Template {
    const parts = this.#parts(0);
    if (parts.length === 0) throw this.#refuse('is empty; use a path such as {.status}');
    return parts;
  }

  /** Parses up to the end of the text, or of the range. @throws StatusError InvalidArgument with the place */
  #parts(depth: number): readonly Part[] {
    if (depth > depthMax) throw this.#refuse(`has more than ${depthMax} nested ranges`);
    const parts: Part[] = [];
    for (;;) {
      const brace = this.#text.indexOf('{', this.#at);
      const end = brace < 0 ? this.#text.length : brace;
      if (end > this.#at) parts.push({ type: 'text', text: this.#text.slice(this.#at, end) });
      this.#at = end;
      if (brace < 0) {
        if (depth > 0) throw this.#refuse('has a range without {end}');
        return parts;
      }
      this.#at += 1;
      this.#spaces();
      if (this.#word('end')) {
        this.#close();
        if (depth === 0) throw this.#refuse('has an {end} without a range');
        return parts;
      }
      parts.push(this.#part(depth));
    }
  }

  #part(depth: number): Part {
    if (this.#word('range')) {
      this.#spaces();
      const path = this.#path();
      this.#close();
      return { type: 'range', path, body: this.#parts(depth + 1) };
    }
    const quote = this.#text[this.#at];
    const part: Part =
      quote === '"' || quote === "'"
        ? { type: 'text', text: this.#quoted() }
        : { type: 'path', path: this.#path() };
    this.#close();
    return part;
  }

  #path(): Path {
    const root = this.#take('$');
    const current = !root && this.#take('@');
    const segments: Segment[] = [];
    for (;;) {
      if (this.#take('..'))
        throw this.#refuse('is invalid: ".." is not supported; name the fields');
      if (this.#take('.*')) segments.push({ type: 'all' });
      else if (this.#take('.')) {
        const name = /^[\w-]+/.exec(this.#text.slice(this.#at))?.[0];
        // A dot alone is the whole document.
        if (name === undefined && segments.length > 0)
          throw this.#refuse('is invalid: a field is missing');
        if (name === undefined) continue;
        this.#at += name.length;
        segments.push({ type: 'field', name });
      } else if (this.#take('[')) segments.push(this.#bracket());
      else break;
    }
    if (!root && !current && segments.length === 0 && this.#text[this.#at - 1] !== '.')
      throw this.#refuse('is invalid: a path such as .status is expected');
    // As in kubectl: a path begins with the current item of a range.
    return { from: root ? 'root' : 'current', segments };
  }

  #bracket(): Segment {
    this.#spaces();
    const segment = this.#inBrackets();
    this.#spaces();
    if (!this.#take(']')) throw this.#refuse('is invalid: "]" is expected');
    return segment;
  }

  #inBrackets(): Segment {
    if (this.#take('*')) return { type: 'all' };
    const quote = this.#text[this.#at];
    if (quote === '"' || quote === "'") return { type: 'field', name: this.#quoted() };
    if (this.#take('?(')) return this.#filter();
    const [whole, from, colon, to] =
      /^(-?\d{1,9})?(:)?(-?\d{1,9})?/.exec(this.#text.slice(this.#at)) ?? [];
    if (!whole)
      throw this.#refuse(`is invalid: a number, "*", a name in quotes or "?(" is expected`);
    this.#at += whole.length;
    const number = (text: string | undefined): number | undefined =>
      text === undefined ? undefined : Number(text);
    if (colon !== undefined) return { type: 'slice', from: number(from), to: number(to) };
    return { type: 'index', index: Number(from) };
  }

  #filter(): Segment {
    this.#spaces();
    if (this.#text[this.#at] !== '@') throw this.#refuse('is invalid: a filter starts with "@"');
    const path = this.#path();
    this.#spaces();
    const operator = operators.find((word) => this.#take(word));
    const test = operator && this.#test(operator);
    this.#spaces();
    if (!this.#take(')')) throw this.#refuse('is invalid: ")" is expected');
    return { type: 'filter', path, test };
  }

  #test(operator: FilterTest['operator']): FilterTest {
    this.#spaces();
    const quote = this.#text[this.#at];
    if (quote === '"' || quote === "'") return { operator, value: this.#quoted() };
    const word = /^(true|false|null|-?\d{1,15}(\.\d{1,15})?)(?![\w.])/.exec(
      this.#text.slice(this.#at),
    )?.[0];
    if (word === undefined)
      throw this.#refuse('is invalid: a number, true, false, null or a text in quotes is expected');
    this.#at += word.length;
    return { operator, value: JSON.parse(word) as number | boolean | null };
  }

  #quoted(): string {
    const quote = this.#text[this.#at];
    let text = '';
    for (let at = this.#at + 1; at < this.#text.length; at += 1) {
      const character = this.#text[at] ?? '';
      if (character === quote) {
        this.#at = at + 1;
        return text;
      }
      if (character === '\\') {
        at += 1;
        const next = this.#text[at] ?? '';
        text += escapes[next] ?? next;
      } else text += character;
    }
    throw this.#refuse('has an unterminated quote');
  }

  #close(): void {
    this.#spaces();
    if (!this.#take('}')) throw this.#refuse('is invalid: "}" is expected');
  }

  /** Consumes a whole word; false if the text does not continue with it. */
  #word(word: string): boolean {
    const rest = this.#text.slice(this.#at);
    if (!rest.startsWith(word) || /^[\w-]/.test(rest.slice(word.length))) return false;
    this.#at += word.length;
    return true;
  }

  #take(text: string): boolean {
    if (!this.#text.startsWith(text, this.#at)) return false;
    this.#at += text.length;
    return true;
  }

  #spaces(): void {
    while (this.#text[this.#at] === ' ') this.#at += 1;
  }

  #refuse(problem: string): StatusError {
    const place = `at character ${Math.min(this.#at, this.#text.length) + 1}`;
    return invalid([
      { field: '--output', description: `the JSONPath template ${problem} (${place})` },
    ]);
  }
}
