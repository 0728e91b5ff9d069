/** The result of a reader that leaves the bytes to the general decoder, which decodes or refuses them. */
export const unread = Symbol('unread');

/** Maximum bytes of a varint that is read here. */
const varintBytes = 7;
/** Invalid UTF-8 is decoded to this character. */
const replacement = '\ufffd';

/** Reads the values of an encoded message in order. A value that does not end before `end` is not read. */
export class MessageInput {
  #bytes: Buffer = Buffer.alloc(0);
  at = 0;

  /** Starts a message. */
  begin(bytes: Uint8Array): void {
    this.#bytes = Buffer.isBuffer(bytes)
      ? bytes
      : Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    this.at = 0;
  }

  /** Releases the bytes. */
  end(): void {
    this.#bytes = Buffer.alloc(0);
  }

  /** Reads a varint of up to 49 bits before `end`; -1 for another one. */
  varint(end: number): number {
    let value = 0;
    let factor = 1;
    for (let count = 0; count < varintBytes && this.at < end; count += 1) {
      const byte = this.#bytes[this.at] ?? 0;
      this.at += 1;
      if (byte < 0x80) return value + byte * factor;
      value += (byte - 0x80) * factor;
      factor *= 0x80;
    }
    return -1;
  }

  /** Reads the length of a part. Returns where the part ends; -1 if that is behind `end`. */
  part(end: number): number {
    const length = this.varint(end);
    return length < 0 || length > end - this.at ? -1 : this.at + length;
  }

  /** Reads a double; {@link unread} for infinity and NaN. */
  double(end: number): number | typeof unread {
    if (end - this.at < 8) return unread;
    const value = this.#bytes.readDoubleLE(this.at);
    this.at += 8;
    return Number.isFinite(value) ? value : unread;
  }

  /**
   * Reads a string with its length; {@link unread} for text with a replacement character, which may be invalid UTF-8.
   */
  text(end: number): string | typeof unread {
    const past = this.part(end);
    if (past < 0) return unread;
    const text = this.#bytes.toString(undefined, this.at, past);
    if (text.includes(replacement)) return unread;
    this.at = past;
    return text;
  }
}
