import { createCipheriv, createDecipheriv, createHash, randomBytes } from 'node:crypto';
import { StatusError } from 'kedge';

/**
 * Envelope encryption (design.md section 6). A sealed text is
 *
 *   kedge-sealed:v1:<key id>:<wrapped data key>:<ciphertext>
 *
 * Both parts are AES-256-GCM, base64url of nonce (12 bytes) | tag (16) | bytes: the data key under
 * the key-encryption key, the text under the data key. Associated data binds it to the place it is
 * stored at (namespace, name, version, key), so that ciphertexts can't be swapped.
 */
const prefix = 'kedge-sealed:v1:';
const nonceBytes = 12;
const tagBytes = 16;
const keyBytes = 32;

/** What clients see instead of a sealed value; written back it keeps the stored one. */
export const mask = '********';

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

/** Seals and opens texts under one key-encryption key of 32 bytes. */
export class Sealer {
  readonly #key: Buffer;
  readonly #keyId: string;

  constructor(key: Buffer) {
    if (key.length !== keyBytes)
      throw new TypeError(
        `the key-encryption key has ${key.length} bytes, it must have ${keyBytes}`,
      );
    this.#key = key;
    this.#keyId = createHash('sha256').update(key).digest('hex').slice(0, 8);
  }

  seal(text: string, place: string): string {
    const dataKey = randomBytes(keyBytes);
    const wrapped = encrypt(this.#key, dataKey, place);
    return `${prefix}${this.#keyId}:${wrapped}:${encrypt(dataKey, Buffer.from(text), place)}`;
  }

  /** @throws StatusError Internal when the key is another one or the text was changed or moved. */
  open(sealed: string, place: string): string {
    const [keyId, wrapped = '', body = ''] = sealed.slice(prefix.length).split(':');
    try {
      const dataKey = decrypt(this.#key, wrapped, place);
      return decrypt(dataKey, body, place).toString();
    } catch (cause) {
      const why =
        keyId === this.#keyId
          ? 'it was changed or moved'
          : `it was sealed with key ${keyId}, this daemon has ${this.#keyId}; give it the right [secrets].kekFile`;
      throw new StatusError({
        code: 'Internal',
        reason: 'UnsealFailed',
        message: `the sealed value at ${place} can't be opened: ${why}`,
        cause,
      });
    }
  }
}
