const firstBytes = 1_024;

/** Bytes that arrive in parts of any size: they take at most about twice their length in memory, or 1 KiB. */
export class GrowingBytes {
  #bytes: Buffer | undefined;
  #length = 0;

  get length(): number {
    return this.#length;
  }

  /** Appends a copy of a part. @param lengthMax the length that all parts have together, if it is known */
  append(part: Buffer, lengthMax = Infinity): void {
    const length = this.#length + part.length;
    const roomFor = (bytes: number): Buffer =>
      Buffer.allocUnsafe(Math.max(length, Math.min(bytes, lengthMax)));
    if (!this.#bytes) this.#bytes = roomFor(firstBytes);
    else if (length > this.#bytes.length) {
      const larger = roomFor(2 * this.#bytes.length);
      this.#bytes.copy(larger, 0, 0, this.#length);
      this.#bytes = larger;
    }
    part.copy(this.#bytes, this.#length);
    this.#length = length;
  }

  /** Returns all bytes, and begins again without any. */
  take(): Buffer {
    const bytes = this.#bytes?.subarray(0, this.#length) ?? Buffer.alloc(0);
    this.#bytes = undefined;
    this.#length = 0;
    return bytes;
  }
}
