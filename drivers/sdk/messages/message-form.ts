/** The placeholders of a text: `volume` and `labels[]` of `{volume} is in {{labels[]}}`. */
type Placeholders<T extends string> = T extends `${string}{${infer Rest}`
  ? Rest extends `{${string}`
    ? Placeholders<Rest>
    : Rest extends `${infer Name}}${infer More}`
      ? Name | Placeholders<More>
      : never
  : never;

type NameOf<P extends string> = P extends `${infer Name}[]` ? Name : P;

/** The parts that a form writes. */
export type GivenParts<T extends string> = {
  readonly [P in Placeholders<T> as NameOf<P>]: P extends `${string}[]`
    ? readonly string[]
    : string | number | bigint;
};

/** The parts that a form reads. */
export type ReadParts<T extends string> = {
  readonly [P in Placeholders<T> as NameOf<P>]: P extends `${string}[]`
    ? readonly string[]
    : string;
};

/**
 * A text with named parts, which one component writes and another one reads. Both use the same form, so that a changed
 * text can't be misread.
 *
 * Guarantees:
 * - `read` returns the parts that `format` was given, also inside a longer message.
 * - A part that is empty, has white space or one of `"',;(){}`, or ends with one of `:.?!`, is written in double quotes,
 *   with the escapes of JSON. Others are written as they are. `read` accepts both ways.
 *
 * Caveats:
 * - The first occurrence in a message counts, also one in a text that the message quotes.
 * - A list at the end of a form ends at the first text that is not an entry: a comma after it would continue it.
 *
 * @example
 * const taken = messageForm('port {port} of node {node} is taken');
 * const message = taken.format({ port: '80/TCP', node: 'n1' });
 * taken.read(`no node fits: ${message}`)?.node; // 'n1'
 */
export interface MessageForm<T extends string> {
  /** The text with its placeholders. */
  readonly text: T;
  /** Writes the text; without an argument if it has no parts. */
  format(...parts: [Placeholders<T>] extends [never] ? [] : [GivenParts<T>]): string;
  /** Returns the parts of the first occurrence in a message; undefined without one. */
  read(message: string): ReadParts<T> | undefined;
  /** Returns the parts of all occurrences in a message, in their order. */
  readAll(message: string): readonly ReadParts<T>[];
  /** Whether a message contains the text. */
  isIn(message: string): boolean;
}

interface Part {
  readonly name: string;
  readonly isList: boolean;
  /** The text has the quotes: `"{name}"`. */
  readonly isQuoted: boolean;
}

/** Punctuation at which a part without quotes ends. */
const separators = `\\s"',;(){}`;
/** Punctuation that a part without quotes contains, but does not end with. */
const inner = ':.?!';
const bare = `[^${separators}]*[^${separators}${inner}](?=[${inner}]*(?:[${separators}]|$))`;
/** The content of a string of JSON, with its escapes. */
const quotedContent = String.raw`(?:[^"\\\x00-\x1f]|\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4}))*`;
const entry = `(?:"${quotedContent}"|${bare})`;
const list = `(?:${entry}(?:, ${entry})*)?`;
const isBare = new RegExp(`^${bare}$`);
const entries = new RegExp(entry, 'g');
const placeholder = /\{(\w+)(\[\])?\}/;

function shown(value: string): string {
  return isBare.test(value) ? value : JSON.stringify(value);
}

function valueOf(text: string): string {
  return text.startsWith('"') ? String(JSON.parse(text)) : text;
}

function escaped(literal: string): string {
  return literal.replace(/[\\^$.*+?()[\]{}|/]/g, '\\$&');
}

/** Whether a text after a list could be read as further entries: only a comma, or a comma and one word. */
function continues(after: string): boolean {
  return after.startsWith(',') && !new RegExp(`^, [^${separators}]+ `).test(after);
}

/** The literals and the parts of a text: one literal more than parts. */
function parse(text: string): {
  readonly literals: readonly string[];
  readonly parts: readonly Part[];
} {
  const pieces = text.split(placeholder);
  const literals = pieces.filter((_piece, at) => at % 3 === 0);
  const parts = literals.slice(1).map((after, at): Part => {
    const isList = pieces[at * 3 + 2] !== undefined;
    const isQuoted = !isList && (literals[at] ?? '').endsWith('"') && after.startsWith('"');
    return { name: pieces[at * 3 + 1] ?? '', isList, isQuoted };
  });
  const names = new Set(parts.map(({ name }) => name));
  if (names.size < parts.length) throw new TypeError(`"${text}" has a placeholder twice`);
  for (const [at, after] of literals.slice(1).entries()) {
    const isLast = at === parts.length - 1;
    const ends = new RegExp(`^[${inner}]*[${separators}]`).test(after) || (isLast && after === '');
    if (!ends || (parts[at]?.isList === true && continues(after)))
      throw new TypeError(
        `"${text}": a space or punctuation must follow {${parts[at]?.name ?? ''}}`,
      );
  }
  return { literals, parts };
}

function patternOf({ literals, parts }: ReturnType<typeof parse>): string {
  const groups = parts.map(({ isList, isQuoted }, at) => {
    const group = isQuoted ? quotedContent : isList ? list : entry;
    return `(${group})${escaped(literals[at + 1] ?? '')}`;
  });
  const last = literals.at(-1) ?? '';
  // Not inside of another word.
  return `(?<=^|[${separators}[=:])${escaped(literals[0] ?? '')}${groups.join('')}${/\w$/.test(last) ? '(?!\\w)' : ''}`;
}

/**
 * Creates a form.
 * @param text the text with `{name}` for a part, `"{name}"` for one that is always quoted, and `{name[]}` for a list
 * with commas. Other braces are text. A space or punctuation follows each part.
 * @throws TypeError for a text in which a part has no end, or for two parts with one name
 */
export function messageForm<const T extends string>(text: T): MessageForm<T> {
  const parsed = parse(text);
  const { literals, parts } = parsed;
  const pattern = new RegExp(patternOf(parsed), 'g');
  const partsOf = (found: RegExpMatchArray): ReadParts<T> =>
    Object.fromEntries(
      parts.map(({ name, isList, isQuoted }, at) => {
        const read = found[at + 1] ?? '';
        if (isList) return [name, [...read.matchAll(entries)].map(([each]) => valueOf(each))];
        return [name, isQuoted ? valueOf(`"${read}"`) : valueOf(read)];
      }),
    ) as ReadParts<T>;
  const readAll = (message: string): readonly ReadParts<T>[] =>
    [...message.matchAll(pattern)].map(partsOf);
  return {
    text,
    format(...[given]) {
      const values = parts.map(({ name, isList, isQuoted }, at) => {
        const value = (given as Readonly<Record<string, unknown>> | undefined)?.[name];
        const part = isList
          ? (value as readonly string[]).map(shown).join(', ')
          : isQuoted
            ? JSON.stringify(String(value)).slice(1, -1)
            : shown(String(value));
        return `${part}${literals[at + 1] ?? ''}`;
      });
      return `${literals[0] ?? ''}${values.join('')}`;
    },
    read: (message) => readAll(message)[0],
    readAll,
    isIn: (message) => readAll(message).length > 0,
  };
}
