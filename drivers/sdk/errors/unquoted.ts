/** A text without the quoting of URLs, JSON and XML, with the part of the original text that each character is from. */
export interface Unquoted {
  readonly text: string;
  /** The start of each UTF-16 unit in the original text, and its end; absent if nothing was quoted. */
  readonly origin?: Origin;
}

interface Origin {
  readonly starts: readonly number[];
  readonly ends: readonly number[];
}

/** The most levels of quoting that are removed. */
const levelsMax = 6;

/** The characters with which a quoted form begins. */
const quoting = /[%\\&]/;

/** A run of backslashes counts once: JSON within JSON doubles them. */
const json = /\\+(?:u([0-9a-f]{4})|([bfnrt])|([^\\]))?/iy;
const url = /(?:%[0-9a-f]{2})+/iy;
const xml = /&(?:(amp|lt|gt|quot|apos)|#(\d{1,7})|#x([0-9a-f]{1,6}));/iy;

const controls: Readonly<Record<string, string>> = {
  ...{ b: '\b', f: '\f', n: '\n', r: '\r', t: '\t' },
};
const entities: Readonly<Record<string, string>> = {
  ...{ amp: '&', lt: '<', gt: '>', quot: '"', apos: "'" },
};

/** Characters that stand for each other: the space and the plus of forms, and the two alphabets of base64. */
const alike: Readonly<Record<string, string>> = { '+': ' ', '-': ' ', _: '/' };

/** A character, and the length of its quoted form. */
type Part = readonly [text: string, length: number];

function fromCode(code: number): string {
  return code <= 0x10_ffff ? String.fromCodePoint(code) : '';
}

/** The characters of bytes in UTF-8, each with its number of bytes. A byte that is none stays one character. */
function decoded(bytes: Buffer): readonly Part[] {
  const parts: Part[] = [];
  for (let at = 0; at < bytes.length; ) {
    const lead = bytes[at] ?? 0;
    const length = lead < 0xc0 ? 1 : lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : 4;
    const text = bytes.toString('utf8', at, at + length);
    const isValid = text.length > 0 && !text.includes('\ufffd');
    parts.push(isValid ? [text, length] : [String.fromCharCode(lead), 1]);
    at += isValid ? length : 1;
  }
  return parts;
}

function matchAt(form: RegExp, text: string, at: number): RegExpExecArray | null {
  form.lastIndex = at;
  return form.exec(text);
}

/** The characters that a quoted form at a place of a text stands for; undefined if there is none. */
function partsAt(text: string, at: number): readonly Part[] | undefined {
  switch (text[at]) {
    case '%': {
      const [match = ''] = matchAt(url, text, at) ?? [];
      if (match === '') return undefined;
      const bytes = Buffer.from(match.replaceAll('%', ''), 'hex');
      return decoded(bytes).map(([part, length]) => [part, length * 3]);
    }
    case '\\': {
      const [match = '', code, control, other = ''] = matchAt(json, text, at) ?? [];
      if (code !== undefined) return [[fromCode(Number.parseInt(code, 16)), match.length]];
      if (control !== undefined) return [[controls[control] ?? control, match.length]];
      return [[other, match.length]];
    }
    case '&': {
      const match = matchAt(xml, text, at);
      if (!match) return undefined;
      const [all, name, decimal, hexadecimal] = match;
      if (name !== undefined) return [[entities[name.toLowerCase()] ?? '', all.length]];
      const code = decimal === undefined ? Number.parseInt(hexadecimal ?? '', 16) : Number(decimal);
      return [[fromCode(code), all.length]];
    }
    default:
      return undefined;
  }
}

/** Removes one level of quoting. Texts between quoted forms are copied at once. */
function withoutLevel({ text, origin }: Unquoted): Unquoted {
  const texts: string[] = [];
  const [starts, ends]: [number[], number[]] = [[], []];
  const startOf = (at: number): number => (origin ? (origin.starts[at] ?? 0) : at);
  const endOf = (at: number): number => (origin ? (origin.ends[at] ?? 0) : at + 1);
  const search = new RegExp(quoting, 'g');
  for (let at = 0; at < text.length; ) {
    search.lastIndex = at;
    const next = search.test(text) ? search.lastIndex - 1 : text.length;
    texts.push(text.slice(at, next));
    for (; at < next; at += 1) {
      starts.push(startOf(at));
      ends.push(endOf(at));
    }
    if (at === text.length) break;
    for (const [part, length] of partsAt(text, at) ?? [[text[at] ?? '', 1] as const]) {
      texts.push(part);
      for (let unit = 0; unit < part.length; unit += 1) {
        starts.push(startOf(at));
        ends.push(endOf(at + length - 1));
      }
      at += length;
    }
  }
  return { text: texts.join(''), origin: { starts, ends } };
}

/**
 * Removes the quoting of URLs, JSON and XML from a text, up to six levels of it in any order. The forms of a text that
 * differ in their quoting only have the same result, so that one can be searched for in the other. It is not the original
 * text: backslashes are removed, and the characters of {@link alike} stand for each other.
 */
export function unquoted(text: string): Unquoted {
  let found: Unquoted = { text };
  for (let level = 0; level < levelsMax && quoting.test(found.text); level += 1) {
    const next = withoutLevel(found);
    if (next.text === found.text) break;
    found = next;
  }
  return { ...found, text: found.text.replace(/[-+_]/g, (char) => alike[char] ?? char) };
}
