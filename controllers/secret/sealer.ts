import { createCipheriv, createDecipheriv, createHash, randomBytes } from 'node:crypto';
import { type FieldViolation, StatusError } from 'kedge';
import { mask } from '../messages/mask.js';

export { mask } from '../messages/mask.js';

/**
 * Envelope encryption. A sealed text is
 *
 *   kedge-sealed:v1:<key id>:<wrapped data key>:<ciphertext>
 *
 * Both parts are AES-256-GCM, base64url of nonce (12 bytes) | tag (16) | bytes: the data key under the
 * key-encryption key, the text under the data key. Associated data binds it to the place it is stored at
 * (namespace, name, version, key), so that ciphertexts can't be swapped. For a literal in parameters only the data
 * key is bound to the object: a copy for another object rewraps the key and keeps the ciphertext, so that copies of
 * one value are distinguishable from different values.
 */
const prefix = 'kedge-sealed:v1:';
const nonceBytes = 12;
const tagBytes = 16;
const keyBytes = 32;

/** The violation of a mask that is written where no sealed value is stored: it would become the value. */
export function maskViolation(field: string): FieldViolation {
  return {
    field,
    description: `is the mask ${mask} of a hidden value, and no hidden value is stored here; set the value itself, or omit the field`,
  };
}

function encrypt(key: Buffer, text: Buffer, place: string): string {
  const nonce = randomBytes(nonceBytes);
  const cipher = createCipheriv('aes-256-gcm', key, nonce).setAAD(Buffer.from(place));
  const body = Buffer.concat([cipher.update(text), cipher.final()]);
  return Buffer.concat([nonce, cipher.getAuthTag(), body]).toString('base64url');
}

function decrypt(key: Buffer, sealed: string, place: string): Buffer {
  const bytes = Buffer.from(sealed, 'base64url');
  const nonce = bytes.subarray(0, nonceBytes);
  const tag = bytes.subarray(nonceBytes, nonceBytes + tagBytes);
  const decipher = createDecipheriv('aes-256-gcm', key, nonce)
    .setAAD(Buffer.from(place))
    .setAuthTag(tag);
  return Buffer.concat([decipher.update(bytes.subarray(nonceBytes + tagBytes)), decipher.final()]);
}

/** True for a text in sealed form. */
export function isSealed(text: string): boolean {
  return text.startsWith(prefix);
}

/** Identifies a sealed value: it is stable across {@link Sealer.reseal}. */
export function sealedBody(sealed: string): string {
  return sealed.slice(sealed.lastIndexOf(':') + 1);
}

/** An object with parameters. */
export interface Holder {
  readonly kind: string;
  readonly namespace?: string;
  readonly name: string;
}

/** An object of a kind as a holder. */
export function holderOf(
  { kind }: { readonly kind: string },
  { namespace = '', name }: { readonly namespace?: string; readonly name: string },
): Holder {
  return { kind, namespace, name };
}

/** The place of a sensitive literal: a key of an object's parameters. */
export interface LiteralPlace {
  readonly holder: Holder;
  readonly key: string;
}

/** The binding of a sealed text. */
export type Place = string | LiteralPlace;

/** Associated data of a literal that belongs to no object, as earlier releases sealed all of them. */
export function unboundPlace(key: string): string {
  return `parameter/${key}`;
}

/** Associated data of the data key of a value at this place. */
function ownPlace(place: Place): string {
  if (typeof place === 'string') return place;
  const { kind, namespace = '', name } = place.holder;
  return `parameter/${kind}/${namespace}/${name}/${place.key}`;
}

/** Associated data of the text of a value at this place. */
function textPlace(place: Place): string {
  return typeof place === 'string' ? place : unboundPlace(place.key);
}

interface NamedKey {
  readonly id: string;
  readonly key: Buffer;
}

function named(key: Buffer): NamedKey {
  if (key.length !== keyBytes)
    throw new TypeError(`the key-encryption key has ${key.length} bytes and must have ${keyBytes}`);
  return { id: createHash('sha256').update(key).digest('hex').slice(0, 8), key };
}

/** Seals texts under the first of its key-encryption keys (32 bytes each). Opens texts that any of them sealed. */
export class Sealer {
  #current: NamedKey;
  #all: readonly NamedKey[];

  constructor(key: Buffer, ...older: readonly Buffer[]) {
    this.#current = named(key);
    this.#all = [this.#current, ...older.map(named)];
  }

  /** First characters of the fingerprint of the key that seals. */
  get keyId(): string {
    return this.#current.id;
  }

  /** Sets the keys: {@link seal} uses the first, and {@link open} the one that sealed the text. */
  use(key: Buffer, ...older: readonly Buffer[]): void {
    const current = named(key);
    this.#all = [current, ...older.map(named)];
    this.#current = current;
  }

  /** Seals a text for a place, with the first key and a new data key. */
  seal(text: string, place: Place): string {
    const { id, key } = this.#current;
    const dataKey = randomBytes(keyBytes);
    const wrapped = encrypt(key, dataKey, ownPlace(place));
    return `${prefix}${id}:${wrapped}:${encrypt(dataKey, Buffer.from(text), textPlace(place))}`;
  }

  /** True for a text that was not sealed with the first key. */
  isOutdated(sealed: string): boolean {
    return !sealed.startsWith(`${prefix}${this.#current.id}:`);
  }

  /**
   * Reseals a value with the first key: rewraps its data key, keeps its ciphertext.
   * @throws StatusError as {@link open}
   */
  reseal(sealed: string, place: Place): string {
    return this.#rewrap(sealed, place, place);
  }

  /** The same value bound to another object, for a copy. @throws StatusError as {@link open} */
  rebind(sealed: string, from: LiteralPlace, to: Holder): string {
    return this.#rewrap(sealed, from, { holder: to, key: from.key });
  }

  #rewrap(sealed: string, from: Place, to: Place): string {
    const { dataKey, body } = this.#unwrap(sealed, from);
    const { id, key } = this.#current;
    return `${prefix}${id}:${encrypt(key, dataKey, ownPlace(to))}:${body}`;
  }

  /**
   * Returns the text of a sealed value. Also opens literals of earlier releases until they are resealed.
   * @throws StatusError Internal if the key differs, or the value was changed or moved
   */
  open(sealed: string, place: Place): string {
    const { dataKey, body } = this.#unwrap(sealed, place);
    try {
      return decrypt(dataKey, body, textPlace(place)).toString();
    } catch (cause) {
      throw unopened(place, 'it was changed or moved; write the value again', cause);
    }
  }

  /** Like {@link open}, but undefined for a text that can't be opened, for example because its key is lost. */
  openIfPossible(sealed: string, place: Place): string | undefined {
    try {
      return this.open(sealed, place);
    } catch {
      return undefined; // a use of the value opens it again and reports the error
    }
  }

  /** True for a text that was sealed for this place with a known key. */
  isBoundTo(sealed: string, place: Place): boolean {
    const [keyId, wrapped = ''] = sealed.slice(prefix.length).split(':');
    const found = this.#all.find(({ id }) => id === keyId);
    return found !== undefined && unwrapped(found.key, wrapped, [ownPlace(place)]).type === 'key';
  }

  #unwrap(sealed: string, place: Place): { readonly dataKey: Buffer; readonly body: string } {
    const [keyId = '', wrapped = '', body = ''] = sealed.slice(prefix.length).split(':');
    const found = this.#all.find(({ id }) => id === keyId);
    if (!found) {
      const has = this.#all.map(({ id }) => id).join(', ');
      throw unopened(
        place,
        `it was sealed with key ${keyId}, and this daemon has ${has}; set [secrets].kekFile to the right key`,
        undefined,
      );
    }
    const opened = unwrapped(found.key, wrapped, [ownPlace(place), textPlace(place)]);
    if (opened.type === 'moved')
      throw unopened(place, 'it was changed or moved; write the value again', opened.cause);
    return { dataKey: opened.key, body };
  }
}

/** The data key, if it is bound to one of these places. */
function unwrapped(
  key: Buffer,
  wrapped: string,
  places: readonly string[],
): { readonly type: 'key'; readonly key: Buffer } | { readonly type: 'moved'; cause: unknown } {
  let cause: unknown;
  for (const place of new Set(places))
    try {
      return { type: 'key', key: decrypt(key, wrapped, place) };
    } catch (error) {
      cause = error;
    }
  return { type: 'moved', cause };
}

function unopened(place: Place, why: string, cause: unknown): StatusError {
  return new StatusError({
    code: 'Internal',
    reason: 'UnsealFailed',
    message: `the sealed value at ${ownPlace(place)} can't be opened: ${why}`,
    cause,
  });
}
