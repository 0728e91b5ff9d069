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

/** The literal forms of a secret. A text is searched for them also if the secret is short. */
function quotedForms(secret: string): readonly string[] {
  return [secret, encodeURIComponent(secret), JSON.stringify(secret).slice(1, -1)];
}

function computedNeedles(secret: string): readonly string[] {
  const needles = [...quotedForms(secret).flatMap(base64Of), secret].map(
    (one) => unquoted(one).text,
  );
  return [...new Set(needles)].filter(({ length }) => length >= allFormsMin);
}

/** The needles of the secrets that were used last: the same ones are searched for in the texts of many calls. */
const known = new Map<string, readonly string[]>();
const knownMax = 64;

/** The texts without quoting by which a secret is found. */
function needlesOf(secret: string): readonly string[] {
  const needles = known.get(secret) ?? computedNeedles(secret);
  known.delete(secret);
  known.set(secret, needles);
  const [oldest] = known.keys();
  if (known.size > knownMax && oldest !== undefined) known.delete(oldest);
  return needles;
}

type Place = readonly [start: number, end: number];

/** The parts of a text in which secrets occur without regard to quoting. */
function placesOf(secrets: readonly string[], text: string): readonly Place[] {
  const found = unquoted(text);
  const { starts, ends } = found.origin ?? {};
  const places: Place[] = [];
  for (const needle of secrets.flatMap(needlesOf)) {
    let at = found.text.indexOf(needle);
    while (at >= 0) {
      const last = at + needle.length - 1;
      places.push([starts?.[at] ?? at, ends?.[last] ?? last + 1]);
      at = found.text.indexOf(needle, last + 1);
    }
  }
  return places.sort(([a], [b]) => a - b);
}

function withoutPlaces(text: string, places: readonly Place[], mask: string): string {
  const parts: string[] = [];
  let end = 0;
  for (const [from, to] of places) {
    if (from >= end) parts.push(text.slice(end, from), mask);
    end = Math.max(end, to);
  }
  return [...parts, text.slice(end)].join('');
}

/** Whether a text contains a secret in one of the forms of {@link maskSecrets}. */
export function holdsSecret(text: string, secret: string): boolean {
  return maskSecrets(text, [secret], '') !== text;
}

/**
 * Replaces secrets in a text, with these forms of them: themselves; quoted for URLs and JSON; from eight characters on
 * also quoted for XML, up to six levels of quoting in any order, in base64 of both alphabets with and without padding, alone
 * or within a longer text, and quoted base64. The forms from eight characters on need eight characters without quoting. Other
 * encodings, such as hexadecimal, base64 with line breaks and compressed texts, are not found. The time is linear in the
 * lengths of the text and of the secrets.
 * @param secrets those that contain others must be before them
 */
export function maskSecrets(text: string, secrets: readonly string[], mask: string): string {
  const long = text.length < allFormsMin ? [] : secrets.filter(isLong);
  let shown = long.length > 0 ? withoutPlaces(text, placesOf(long, text), mask) : text;
  // Also those of a secret that consists of quoting.
  for (const secret of secrets)
    if (secret !== '')
      for (const form of new Set(quotedForms(secret))) shown = shown.replaceAll(form, mask);
  return shown;
}

function isLong({ length }: string): boolean {
  return length >= allFormsMin;
}
