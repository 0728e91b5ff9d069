import { unquoted } from './unquoted.js';

/** Secrets of this length and more are found in all forms. In a shorter one, other texts would be found by chance. */
const allFormsMin = 8;

/** The characters of base64 that a text has within a longer one, at each of the three places where it may begin. */
function base64Of(text: string): readonly string[] {
  const bytes = Buffer.from(text);
  return [0, 1, 2].map((before) => {
    const encoded = Buffer.concat([Buffer.alloc(before), bytes]).toString('base64');
    // The first and the last character of the text may also have bits of what is beside it.
    const first = Math.ceil((before * 8) / 6);
    const last = Math.floor(((before + bytes.length) * 8) / 6);
    return encoded.slice(first, last);
  });
}

/** Literal forms, which are also searched for in short secrets. */
function quotedForms(secret: string): readonly string[] {
  return [secret, encodeURIComponent(secret), JSON.stringify(secret).slice(1, -1)];
}

/** The texts without quoting by which a secret is found. */
function needlesOf(secret: string): readonly string[] {
  const needles = [...quotedForms(secret).flatMap(base64Of), secret].map(
    (one) => unquoted(one).text,
  );
  return [...new Set(needles)].filter(({ length }) => length >= allFormsMin);
}

/** The parts of a text, as start and end, in which a secret occurs without regard to quoting. */
function placesOf(secret: string, text: string): readonly (readonly [number, number])[] {
  const found = unquoted(text);
  const places: (readonly [number, number])[] = [];
  for (const needle of needlesOf(secret)) {
    let at = found.text.indexOf(needle);
    while (at >= 0) {
      const last = at + needle.length - 1;
      places.push([found.starts[at] ?? 0, found.ends[last] ?? text.length]);
      at = found.text.indexOf(needle, last + 1);
    }
  }
  return places.sort(([a], [b]) => a - b);
}

function withoutPlaces(
  text: string,
  places: readonly (readonly [number, number])[],
  mask: string,
): string {
  const parts: string[] = [];
  let end = 0;
  for (const [from, to] of places) {
    if (from >= end) parts.push(text.slice(end, from), mask);
    end = Math.max(end, to);
  }
  return [...parts, text.slice(end)].join('');
}

/** Whether a text contains a secret in one of the forms of {@link maskSecret}. */
export function holdsSecret(text: string, secret: string): boolean {
  return maskSecret(text, secret, '') !== text;
}

/**
 * Replaces a secret in a text, with these forms of it: itself; quoted for URLs and JSON; from eight characters on also
 * quoted for XML, up to six levels of quoting in any order, in base64 of both alphabets with and without padding, alone or
 * within a longer text, and quoted base64. The forms from eight characters on need eight characters without quoting. Other
 * encodings, such as hexadecimal, base64 with line breaks and compressed texts, are not found. The time is linear in the
 * lengths of the text and of the secret.
 */
export function maskSecret(text: string, secret: string, mask: string): string {
  if (secret === '') return text;
  const isLong = secret.length >= allFormsMin;
  let shown = isLong ? withoutPlaces(text, placesOf(secret, text), mask) : text;
  // Also those of a secret that consists of quoting.
  for (const form of new Set(quotedForms(secret))) shown = shown.replaceAll(form, mask);
  return shown;
}
