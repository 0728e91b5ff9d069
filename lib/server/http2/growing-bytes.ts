const firstBytes = 1_024;

/** Bytes that arrive in parts of any size: they take at most about twice their length in memory. */
export class GrowingBytes {
  #bytes: Buffer | undefined;
  #length = 0;

  get length(): number {
    return this.#length;
  }

  append(part: Buffer): void {
    const length = this.#length + part.length;
    if (!this.#bytes) this.#bytes = Buffer.allocUnsafe(Math.max(firstBytes, length));
    else if (length > this.#bytes.length) {
      const larger = Buffer.allocUnsafe(Math.max(length, 2 * this.#bytes.length));
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
