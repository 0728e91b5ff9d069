/** The position of a block in a table. */
export interface BlockHandle {
  readonly offset: number;
  readonly size: number;
}

/** Reads LevelDB's variable-length numbers. */
export class VarintReader {
  readonly #bytes: Buffer;
  position: number;

  constructor(bytes: Buffer, position = 0) {
    this.#bytes = bytes;
    this.position = position;
  }

  get ended(): boolean {
    return this.position >= this.#bytes.length;
  }

  /** Reads the next number. @throws Error for an invalid or truncated number */
  varint(): number {
    let value = 0;
    for (let scale = 1; scale <= 2 ** 49; scale *= 128) {
      const byte = this.#bytes[this.position];
      if (byte === undefined) break;
      this.position += 1;
      value += (byte & 0x7f) * scale;
      if (byte < 0x80) return value;
    }
    throw new Error(`an invalid number at byte ${this.position}`);
  }

  /** Skips a string: its length, then its bytes. @throws Error for a string that extends beyond the end */
  skipString(): void {
    const length = this.varint();
    this.position += length;
    if (this.position > this.#bytes.length) throw new Error('a string extends beyond the end');
  }

  handle(): BlockHandle {
    return { offset: this.varint(), size: this.varint() };
  }
}
