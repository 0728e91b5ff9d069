import { hash, randomBytes, timingSafeEqual } from 'node:crypto';
import { crc32 } from 'node:zlib';

/**
 * Form of a token: `kedge_<id>_<secret><crc>`. The id has 16 and the secret 43 characters; crc is 8 hexadecimal
 * digits over the text before it, so that a mistyped token (or a random string in a leak scan) is detected without a
 * look-up.
 */
const form = /^kedge_([a-z0-9]{16})_([A-Za-z0-9_-]{43})([0-9a-f]{8})$/;
/** Maximum characters of a token. Longer text is refused before it is matched. */
const lengthMax = 128;

/** A new token: `text` for the client, `hash` for the store. */
export interface NewToken {
  readonly id: string;
  readonly text: string;
  readonly hash: string;
}

function checksum(text: string): string {
  return crc32(text).toString(16).padStart(8, '0');
}

/** SHA-256 of a token's secret, hexadecimal. The secret is 256 random bits, so no slow hash is needed. */
function hashSecret(secret: string): string {
  return hash('sha256', secret, 'hex');
}

/** Creates a token from the operating system's randomness. */
export function makeToken(): NewToken {
  const id = randomBytes(8).toString('hex');
  const secret = randomBytes(32).toString('base64url');
  const body = `kedge_${id}_${secret}`;
  return { id, text: `${body}${checksum(body)}`, hash: hashSecret(secret) };
}

/** The id and secret in the text of a token; undefined for text that is not a token or has a wrong checksum. */
export function parseToken(
  text: string,
): { readonly id: string; readonly secret: string } | undefined {
  if (text.length > lengthMax) return undefined;
  const match = form.exec(text);
  if (!match) return undefined;
  const [, id = '', secret = '', sum = ''] = match;
  return checksum(`kedge_${id}_${secret}`) === sum ? { id, secret } : undefined;
}

/** Compares in constant time whether `secret` hashes to `expected`. */
export function secretMatches(secret: string, expected: string): boolean {
  const given = Buffer.from(hashSecret(secret), 'latin1');
  const stored = Buffer.from(expected, 'latin1');
  return given.length === stored.length && timingSafeEqual(given, stored);
}

/** Matches a token in a text, also one whose secret is mistyped, or truncated to 8 characters or more. */
const withinText = /(kedge_[a-z0-9]{16}_)[A-Za-z0-9_-]{8,}/g;

/** Redacts secrets of tokens in a text: people sometimes pass a token instead of its id. */
export function withoutTokens(text: string): string {
  return text.includes('kedge_') ? text.replace(withinText, '$1********') : text;
}
