import { ConnectionError, errorCodes, frameBytesMax, frameHeadBytes, preface } from './frames.js';

/** Maximum parts of an incomplete frame. */
const partsMax = 64;

/** Takes a frame. The payload is valid only during the call. */
export type FrameSink = (type: number, flags: number, stream: number, payload: Buffer) => void;

/** Splits the bytes of a client into frames. At most one incomplete frame is kept. */
export class FrameReader {
  readonly #sink: FrameSink;
  #prefaceLeft = preface.length;
  /** The received parts of an incomplete frame, and the bytes that it needs before it can be read further. */
  #parts: Buffer[] = [];
  #held = 0;
  #needed = 0;

  constructor(sink: FrameSink) {
    this.#sink = sink;
  }

  /**
   * Reads further bytes, and passes complete frames to the sink.
   * @throws ConnectionError if the bytes are not HTTP/2; nothing must be read after it
   */
  read(chunk: Buffer): void {
    const bytes = this.#prefaceLeft > 0 ? this.#afterPreface(chunk) : chunk;
    if (this.#held > 0) {
      this.#hold(bytes);
      if (this.#held < this.#needed) return;
      const whole = Buffer.concat(this.#parts);
      this.#parts = [];
      this.#held = 0;
      this.#split(whole);
    } else this.#split(bytes);
  }

  #split(bytes: Buffer): void {
    let at = 0;
    const end = bytes.length;
    this.#needed = frameHeadBytes;
    while (end - at >= frameHeadBytes) {
      const length = bytes.readUIntBE(at, 3);
      if (length > frameBytesMax)
        throw new ConnectionError(errorCodes.frameSize, 'a frame is too long');
      if (end - at < frameHeadBytes + length) {
        this.#needed = frameHeadBytes + length;
        break;
      }
      const payload = at + frameHeadBytes;
      const stream = bytes.readUInt32BE(at + 5) % 2 ** 31;
      const [type = 0, flags = 0] = [bytes[at + 3], bytes[at + 4]];
      at = payload + length;
      this.#sink(type, flags, stream, bytes.subarray(payload, at));
    }
    if (at < end) this.#hold(bytes.subarray(at));
  }

  /** Copied: a slice would keep all that one read brought in memory. */
  #hold(bytes: Buffer): void {
    if (bytes.length === 0) return;
    this.#parts.push(Buffer.from(bytes));
    this.#held += bytes.length;
    // Many parts of a byte each would take a multiple of their length.
    if (this.#parts.length > partsMax) this.#parts = [Buffer.concat(this.#parts)];
  }

  #afterPreface(chunk: Buffer): Buffer {
    const from = preface.length - this.#prefaceLeft;
    const length = Math.min(chunk.length, this.#prefaceLeft);
    if (preface.compare(chunk, 0, length, from, from + length) !== 0)
      throw new ConnectionError(errorCodes.protocol, 'the client does not speak HTTP/2');
    this.#prefaceLeft -= length;
    return chunk.subarray(length);
  }
}
