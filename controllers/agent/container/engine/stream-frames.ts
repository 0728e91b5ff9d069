import { EngineError } from './engine-error.js';

/** A piece of a container's output. */
export interface StreamPiece {
  readonly stream: 'stdout' | 'stderr';
  readonly data: Buffer;
  /** True for the last piece of a frame; in a log, a frame is the output that was written at one time. */
  readonly endsFrame: boolean;
}

const headerBytes = 8;
/** Number of the stream on which the engine reports its own errors. */
const systemError = 3;
const errorBytesMax = 4 * 1024;

/**
 * Splits the multiplexed streams of a container. A frame is `{type, 0, 0, 0, size (4 bytes, big-endian)}` and
 * its bytes. Payload is passed on as it arrives, so that memory stays bounded for frames of any size.
 */
export class FrameSplitter {
  #header = Buffer.alloc(0);
  #type = 0;
  #left = 0;
  #error = Buffer.alloc(0);

  /**
   * Yields the pieces that a chunk contains. @throws EngineError Malformed for an invalid frame; Failed with the
   * engine's error.
   */
  *split(chunk: Buffer): Generator<StreamPiece> {
    let rest = chunk;
    while (rest.length > 0) {
      if (this.#left === 0) {
        rest = this.#takeHeader(rest);
        continue;
      }
      const data = rest.subarray(0, this.#left);
      rest = rest.subarray(data.length);
      this.#left -= data.length;
      if (this.#type === systemError) this.#takeError(data);
      // 0 is standard input, which an engine may echo. It is treated as output.
      else
        yield {
          stream: this.#type === 2 ? 'stderr' : 'stdout',
          data,
          endsFrame: this.#left === 0,
        };
    }
  }

  /** Checks that the stream did not end within a frame. @throws EngineError Broken if it did. */
  end(): void {
    if (this.#header.length > 0 || this.#left > 0)
      throw new EngineError('Broken', 'the output stream of a container ended within a frame');
  }

  #takeHeader(chunk: Buffer): Buffer {
    const missing = headerBytes - this.#header.length;
    this.#header = Buffer.concat([this.#header, chunk.subarray(0, missing)]);
    if (this.#header.length < headerBytes) return Buffer.alloc(0);
    const [type = 0, ...padding] = this.#header.subarray(0, 4);
    if (type > systemError || padding.some((byte) => byte !== 0))
      throw new EngineError(
        'Malformed',
        'the output stream of a container is not divided into frames',
      );
    this.#type = type;
    this.#left = this.#header.readUInt32BE(4);
    this.#header = Buffer.alloc(0);
    return chunk.subarray(missing);
  }

  #takeError(data: Buffer): void {
    this.#error = Buffer.concat([this.#error, data]).subarray(0, errorBytesMax);
    if (this.#left > 0) return;
    const text = this.#error.toString('utf8').trim();
    this.#error = Buffer.alloc(0);
    throw new EngineError(
      'Failed',
      text || 'the engine reported an error in the output stream of a container',
    );
  }
}
