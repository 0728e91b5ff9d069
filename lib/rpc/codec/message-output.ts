/** Initial bytes of the buffer, and the maximum that is kept between messages. */
const initialBytes = 4_096;
const keptBytes = 1_048_576;
/** Strings of up to this many characters are copied here, which is faster than the call into native code. */
const shortCharacters = 40;
/** Maximum bytes in UTF-8 of a UTF-16 code unit, and maximum bytes of a varint. */
const unitBytes = 3;
const varintBytes = 10;

/** The bounds below which a number fits into a varint of 1, 2, 3 and 4 bytes. */
const sizes = [0x80, 0x4000, 0x20_0000, 0x1000_0000];

function varintSize(value: number): number {
  let size = 1;
  for (const limit of sizes) {
    if (value < limit) return size;
    size += 1;
  }
  return size;
}

/** Bytes of a protobuf message in progress. One output serves all messages, which are written one at a time. */
export class MessageOutput {
  #bytes = Buffer.allocUnsafeSlow(initialBytes);
  #view = new DataView(this.#bytes.buffer);
  #at = 0;

  /** Starts a message. */
  begin(): void {
    this.#at = 0;
    if (this.#bytes.length > keptBytes) this.#resize(initialBytes);
  }

  /** Returns a copy of the bytes of the message. */
  end(): Buffer {
    const message = Buffer.allocUnsafe(this.#at);
    this.#bytes.copy(message, 0, 0, this.#at);
    return message;
  }

  /** Writes a whole number from 0 to 2^53 - 1 as a varint. */
  varint(value: number): void {
    this.#reserve(varintBytes);
    let rest = value;
    while (rest >= 0x80) {
      this.#bytes[this.#at] = (rest % 0x80) | 0x80;
      this.#at += 1;
      rest = Math.floor(rest / 0x80);
    }
    this.#bytes[this.#at] = rest;
    this.#at += 1;
  }

  double(value: number): void {
    this.#reserve(8);
    this.#view.setFloat64(this.#at, value, true);
    this.#at += 8;
  }

  /** Writes a well-formed string, with its length before it. */
  text(value: string): void {
    const { length } = value;
    this.#reserve(length * unitBytes + varintBytes);
    if (length <= shortCharacters && this.#ascii(value)) return;
    const start = this.#at;
    // Most text has one byte per character.
    const guessed = varintSize(length);
    const written = this.#bytes.write(value, start + guessed);
    this.#prefix(start, guessed, written);
  }

  /** Starts a part with its length before it. Returns its start, for {@link close}. */
  open(): number {
    this.#reserve(1);
    const start = this.#at;
    this.#at += 1;
    return start;
  }

  /** Ends the part that began at `start`. */
  close(start: number): void {
    const length = this.#at - start - 1;
    if (length < 0x80) {
      this.#bytes[start] = length;
      return;
    }
    this.#reserve(varintBytes);
    this.#prefix(start, 1, length);
  }

  /** Writes the length of a part before it; `guessed` bytes are free for that. */
  #prefix(start: number, guessed: number, length: number): void {
    const needed = varintSize(length);
    if (needed !== guessed)
      this.#bytes.copyWithin(start + needed, start + guessed, start + guessed + length);
    this.#at = start;
    this.varint(length);
    this.#at += length;
  }

  /** Writes a short string with its length. Returns false, without moving the position, if it is not ASCII. */
  #ascii(value: string): boolean {
    const bytes = this.#bytes;
    let at = this.#at;
    bytes[at] = value.length;
    for (let n = 0; n < value.length; n += 1) {
      const code = value.charCodeAt(n);
      if (code >= 0x80) return false;
      at += 1;
      bytes[at] = code;
    }
    this.#at = at + 1;
    return true;
  }

  #reserve(count: number): void {
    const needed = this.#at + count;
    if (needed > this.#bytes.length) this.#resize(Math.max(needed, this.#bytes.length * 2));
  }

  #resize(length: number): void {
    const before = this.#bytes;
    this.#bytes = Buffer.allocUnsafeSlow(length);
    this.#view = new DataView(this.#bytes.buffer);
    before.copy(this.#bytes, 0, 0, this.#at);
  }
}
