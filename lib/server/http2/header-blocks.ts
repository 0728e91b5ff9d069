import { ConnectionError, errorCodes, frameFlags as flag } from './frames.js';
import { type DecodedHeaders, headerBytesMax, HeaderDecoder } from './header-decoder.js';

/** Maximum frames of one block of headers. */
const framesMax = 16;

/** Headers that have not arrived completely. */
interface HeaderBlock {
  readonly stream: number;
  readonly isEnd: boolean;
  readonly parts: Buffer[];
  bytes: number;
}

/** Takes the headers of a stream. */
export type HeaderSink = (stream: number, isEnd: boolean, decoded: DecodedHeaders) => void;

/** Assembles the blocks of headers of a connection from their frames, and decodes them in order. */
export class HeaderBlocks {
  readonly #decoder = new HeaderDecoder();
  readonly #sink: HeaderSink;
  #block: HeaderBlock | undefined;

  constructor(sink: HeaderSink) {
    this.#sink = sink;
  }

  /**
   * The stream whose headers are incomplete; undefined if there is none. No other frame may come before the rest of
   * them.
   */
  get incomplete(): number | undefined {
    return this.#block?.stream;
  }

  /** Takes a HEADERS frame. @throws ConnectionError */
  begin(stream: number, flags: number, payload: Buffer): void {
    let block = flags & flag.padded ? unpadded(payload) : payload;
    if (flags & flag.priority) {
      if (block.length < 5)
        throw new ConnectionError(errorCodes.frameSize, 'a HEADERS frame is too short');
      block = block.subarray(5);
    }
    const isEnd = (flags & flag.endStream) !== 0;
    if (flags & flag.endHeaders) this.#sink(stream, isEnd, this.#decoder.decode(block));
    else this.#block = { stream, isEnd, parts: [Buffer.from(block)], bytes: block.length };
  }

  /** Takes a CONTINUATION frame. @throws ConnectionError without incomplete headers, and beyond the limits */
  proceed(flags: number, payload: Buffer): void {
    const block = this.#block;
    if (!block) throw new ConnectionError(errorCodes.protocol, 'no headers are incomplete');
    block.parts.push(Buffer.from(payload));
    block.bytes += payload.length;
    if (block.parts.length > framesMax || block.bytes > headerBytesMax)
      throw new ConnectionError(errorCodes.enhanceYourCalm, 'the headers are too long');
    if (!(flags & flag.endHeaders)) return;
    this.#block = undefined;
    this.#sink(block.stream, block.isEnd, this.#decoder.decode(Buffer.concat(block.parts)));
  }
}

/** The payload of a frame with padding. @throws ConnectionError if the padding is longer than the payload */
export function unpadded(payload: Buffer): Buffer {
  const padding = payload[0] ?? 0;
  if (padding >= payload.length)
    throw new ConnectionError(errorCodes.protocol, 'the padding is too long');
  return payload.subarray(1, payload.length - padding);
}
