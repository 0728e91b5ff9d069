import type { FileHandle } from 'node:fs/promises';
import { crc32 } from 'node:zlib';

/** Bytes of a log that are read at once. */
export const chunkBytes = 64 * 1024;
/** Maximum bytes of a line. A longer line is split, so memory is bounded for any output. */
const lineBytesMax = 64 * 1024;

/** The position after a line, where a reader resumes. */
export interface LogPosition {
  readonly offset: number;
  /** The checksum of up to 64 bytes before the offset. */
  readonly check: number;
}

/** A line with the position of its end. */
export interface ReadLine {
  readonly content: string;
  readonly position: LogPosition;
  /**
   * A time before the write of a line in a rotated file, milliseconds since the epoch; 0 if unknown. Absent for the
   * current file.
   */
  readonly asideAfter?: number;
}

/** Number of bytes before a position whose checksum identifies the file of the position. */
const checkBytes = 64;

function checkOf(bytes: Buffer): number {
  return crc32(bytes.subarray(Math.max(0, bytes.length - checkBytes)));
}

/** The position of an offset in a file. */
export async function positionAt(file: FileHandle, offset: number): Promise<LogPosition> {
  const bytes = Buffer.alloc(Math.min(checkBytes, offset));
  await file.read(bytes, 0, bytes.length, offset - bytes.length);
  return { offset, check: checkOf(bytes) };
}

/**
 * Whether a file may be the one in which a position was taken: it is long enough, and the checksum matches. True for
 * every file at offset 0.
 */
export async function holds(file: FileHandle, { offset, check }: LogPosition): Promise<boolean> {
  if ((await file.stat()).size < offset) return false;
  return (await positionAt(file, offset)).check === check;
}

/**
 * Splits appended content of a file into lines. A line is split at `lineBytesMax`, so memory is bounded for any
 * output.
 */
export class LineCutter {
  #rest: Buffer = Buffer.alloc(0);
  #tail: Buffer = Buffer.alloc(0);
  /** Offset after the last line that was yielded. */
  #offset: number;

  constructor(offset: number, tail: Buffer) {
    this.#offset = offset;
    this.#tail = tail;
  }

  /** The position after the last line that was yielded. */
  get position(): LogPosition {
    return { offset: this.#offset, check: checkOf(this.#tail) };
  }

  /** The offset after the content that was passed to {@link cut}, and up to 64 bytes before this offset. */
  get read(): { readonly offset: number; readonly before: Buffer } {
    const bytes = Buffer.concat([this.#tail, this.#rest.subarray(-checkBytes)]);
    const before = bytes.subarray(Math.max(0, bytes.length - checkBytes));
    return { offset: this.#offset + this.#rest.length, before };
  }

  /** Yields the lines that end in a chunk, which must follow the previous one. Text after the last line is retained. */
  *cut(chunk: Buffer): Iterable<ReadLine> {
    this.#rest = this.#rest.length === 0 ? chunk : Buffer.concat([this.#rest, chunk]);
    for (;;) {
      const end = this.#rest.indexOf(0x0a);
      if (end >= 0 && end <= lineBytesMax) yield this.#take(end, 1);
      else if (this.#rest.length > lineBytesMax) yield this.#take(this.#characterEnd(), 0);
      else break;
    }
    // The buffer of the chunk is reused.
    this.#rest = Buffer.from(this.#rest);
  }

  /** Yields the text after the last yielded line, if any. */
  *end(): Iterable<ReadLine> {
    if (this.#rest.length > 0) yield this.#take(this.#rest.length, 0);
  }

  /** The end of the last complete UTF-8 character within `lineBytesMax`: a line must not be split within one. */
  #characterEnd(): number {
    let end = lineBytesMax;
    while (end > lineBytesMax - 4 && ((this.#rest[end] ?? 0) & 0xc0) === 0x80) end -= 1;
    return end;
  }

  #take(end: number, feed: number): ReadLine {
    const bytes = this.#rest.subarray(0, end + feed);
    this.#rest = this.#rest.subarray(end + feed);
    this.#offset += bytes.length;
    const tail = Buffer.concat([this.#tail, bytes.subarray(-checkBytes)]);
    this.#tail = tail.subarray(Math.max(0, tail.length - checkBytes));
    return { content: bytes.toString('utf8', 0, end), position: this.position };
  }
}

/** Returns a cutter for the content of a file from an offset on. */
export async function cutterAt(file: FileHandle, offset: number): Promise<LineCutter> {
  const tail = Buffer.alloc(Math.min(checkBytes, offset));
  await file.read(tail, 0, tail.length, offset - tail.length);
  return new LineCutter(offset, tail);
}

/**
 * Yields the lines of a file that no longer grows, or of the part of a growing file before `to`. Text after the last
 * line feed is a line.
 */
export async function* restOf(
  file: FileHandle,
  from: number,
  to = Infinity,
): AsyncIterable<ReadLine> {
  const cutter = await cutterAt(file, from);
  for (let offset = from; ; ) {
    const buffer = Buffer.alloc(chunkBytes);
    const length = Math.min(chunkBytes, to - offset);
    if (length <= 0) break;
    const { bytesRead } = await file.read(buffer, 0, length, offset);
    if (bytesRead === 0) break;
    offset += bytesRead;
    yield* cutter.cut(buffer.subarray(0, bytesRead));
  }
  yield* cutter.end();
}
