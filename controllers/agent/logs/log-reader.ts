import type { FileHandle } from 'node:fs/promises';
import { watch } from 'node:fs';
import { crc32 } from 'node:zlib';
import { sleep, systemClock } from 'kedge';
import { defaultPolicy } from '../../policy/policy.js';
import { openLogToRead } from './log-file.js';
import { offsetSince } from './log-times.js';

const chunkBytes = 64 * 1024;
/** A longer line is split, so memory is bounded for any output. */
const lineBytesMax = 64 * 1024;

/** The offset of the last `lines` lines; of the whole file if `lines` is 0. */
async function tailOffset(file: FileHandle, size: number, lines: number): Promise<number> {
  if (lines <= 0) return 0;
  const buffer = Buffer.alloc(chunkBytes);
  let found = 0;
  for (let end = size; end > 0; ) {
    const start = Math.max(0, end - chunkBytes);
    const { bytesRead } = await file.read(buffer, 0, end - start, start);
    for (let at = bytesRead - 1; at >= 0; at -= 1) {
      // The final line feed ends the last line and begins no other.
      if (buffer[at] !== 0x0a || start + at === size - 1) continue;
      found += 1;
      if (found === lines) return start + at + 1;
    }
    end = start;
  }
  return 0;
}

/** Watches a file. `next` resolves at the next change since its last call, or when the signal aborts. */
function changed(path: string, signal: AbortSignal): { next(): Promise<void>; close(): void } {
  let dirty = false;
  let wake: () => void = () => undefined;
  const notify = (): void => {
    dirty = true;
    wake();
  };
  const watcher = watch(path, { persistent: false }, notify);
  watcher.on('error', notify);
  signal.addEventListener('abort', notify, { once: true });
  return {
    next: async () => {
      if (!dirty && !signal.aborted)
        await new Promise<void>((resolve) => {
          wake = resolve;
        });
      dirty = false;
    },
    close: () => {
      watcher.close();
      signal.removeEventListener('abort', notify);
    },
  };
}

/** The position after a line, where a reader resumes. */
export interface LogPosition {
  readonly offset: number;
  /** The checksum of the bytes before the offset. */
  readonly check: number;
}

/** The range of a log to read. */
export interface LogOptions {
  /** Number of last lines to start with; 0 for all. */
  readonly tail: number;
  readonly follow: boolean;
  /** Probe interval, in milliseconds, of a followed log that does not exist yet; default: the policy's. */
  readonly probeMs?: number;
  readonly signal: AbortSignal;
  /** Continue after this position; overrides `tail`. */
  readonly after?: LogPosition | undefined;
  /** Only lines since this time, milliseconds since the epoch; a few earlier lines may be included. */
  readonly since?: number | undefined;
}

/** A line with the position of its end. */
export interface ReadLine {
  readonly content: string;
  readonly position: LogPosition;
  /** Set for a line of a rotated file. */
  readonly isAside?: true;
}

/** Bytes before a position, which identify the file of the position. */
const checkBytes = 64;
/** Number of rotated files: `<file>.1` is the newest. */
export const rotatedMax = 3;

function checkOf(bytes: Buffer): number {
  return crc32(bytes.subarray(Math.max(0, bytes.length - checkBytes)));
}

/** The position of an offset in a file. */
export async function positionAt(file: FileHandle, offset: number): Promise<LogPosition> {
  const bytes = Buffer.alloc(Math.min(checkBytes, offset));
  await file.read(bytes, 0, bytes.length, offset - bytes.length);
  return { offset, check: checkOf(bytes) };
}

/** Whether a position was taken in this file. */
export async function holds(file: FileHandle, { offset, check }: LogPosition): Promise<boolean> {
  if ((await file.stat()).size < offset) return false;
  return (await positionAt(file, offset)).check === check;
}

/**
 * Splits appended content of a file into lines. A line is split at `lineBytesMax`, so memory is bounded for any
 * output.
 */
class LineCutter {
  #rest: Buffer = Buffer.alloc(0);
  #tail: Buffer = Buffer.alloc(0);
  /** Offset after the last line that was yielded. */
  #offset: number;

  constructor(offset: number, tail: Buffer) {
    this.#offset = offset;
    this.#tail = tail;
  }

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

  /** The text after the last line feed, if any. */
  *end(): Iterable<ReadLine> {
    if (this.#rest.length > 0) yield this.#take(this.#rest.length, 0);
  }

  /** The end of the last complete character: a line must not be split within one. */
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
    const position = { offset: this.#offset, check: checkOf(this.#tail) };
    return { content: bytes.toString('utf8', 0, end), position };
  }
}

async function cutterAt(file: FileHandle, offset: number): Promise<LineCutter> {
  const tail = Buffer.alloc(Math.min(checkBytes, offset));
  await file.read(tail, 0, tail.length, offset - tail.length);
  return new LineCutter(offset, tail);
}

/** The rest of a file that no longer grows, or the part of a growing file before an offset. */
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

/** Lines of rotated files after a position; all their lines if none of them contains the position. */
async function* rotatedSince(path: string, after: LogPosition): AsyncIterable<ReadLine> {
  const files: FileHandle[] = [];
  try {
    let from = 0;
    for (let n = 1; n <= rotatedMax; n += 1) {
      const file = await openLogToRead(`${path}.${n}`);
      if (!file) break;
      files.unshift(file);
      if (!(await holds(file, after))) continue;
      from = after.offset;
      break;
    }
    for (const [at, file] of files.entries()) yield* restOf(file, at === 0 ? from : 0);
  } finally {
    await Promise.all(files.map((file) => file.close()));
  }
}

/** Lines of the files that were rotated after a time. */
async function* rotatedAfter(path: string, since: number): AsyncIterable<ReadLine> {
  for (let n = rotatedMax; n >= 1; n -= 1) {
    const file = await openLogToRead(`${path}.${n}`);
    if (!file) continue;
    try {
      if ((await file.stat()).mtimeMs >= since) yield* restOf(file, 0);
    } finally {
      await file.close();
    }
  }
}

async function* aside(lines: AsyncIterable<ReadLine>): AsyncIterable<ReadLine> {
  for await (const line of lines) yield { ...line, isAside: true };
}

/**
 * Lines of a growing file. A file that was truncated (rotated) is read from its start. None if the file does not exist;
 * with `follow` until the signal aborts.
 */
export async function* readLines(path: string, options: LogOptions): AsyncIterable<ReadLine> {
  const { signal, follow, after } = options;
  let file = await openLogToRead(path);
  // A reader may follow a log before its workload starts.
  while (!file && follow && !signal.aborted) {
    await sleep(systemClock, options.probeMs ?? defaultPolicy.logProbeMs, signal);
    file = await openLogToRead(path);
  }
  if (!file) return;
  const changes = follow ? changed(path, signal) : undefined;
  const buffer = Buffer.alloc(chunkBytes);
  try {
    const here = after && (await holds(file, after));
    if (after && !here) yield* aside(rotatedSince(path, after));
    const size = (await file.stat()).size;
    const { since, tail } = options;
    if (since !== undefined && !after && tail === 0) yield* aside(rotatedAfter(path, since));
    let offset = here
      ? after.offset
      : after
        ? 0
        : Math.max(
            await tailOffset(file, size, tail),
            since === undefined ? 0 : await offsetSince(path, since),
          );
    let cutter = await cutterAt(file, offset);
    for (;;) {
      const { bytesRead } = await file.read(buffer, 0, chunkBytes, offset);
      if (bytesRead > 0) {
        offset += bytesRead;
        yield* cutter.cut(buffer.subarray(0, bytesRead));
        continue;
      }
      if (!changes) break;
      await changes.next();
      if (signal.aborted) break;
      if ((await file.stat()).size >= offset) continue;
      offset = 0;
      cutter = await cutterAt(file, 0);
    }
    if (!follow) yield* cutter.end();
  } finally {
    changes?.close();
    await file.close();
  }
}
