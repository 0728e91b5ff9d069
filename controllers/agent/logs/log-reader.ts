import type { FileHandle } from 'node:fs/promises';
import { watch } from 'node:fs';
import { sleep, systemClock } from 'kedge';
import { defaultPolicy } from '../../policy/policy.js';
import { openLogToRead } from './log-file.js';
import {
  chunkBytes,
  cutterAt,
  holds,
  type LineCutter,
  type LogPosition,
  type ReadLine,
} from './log-lines.js';
import { offsetSince } from './log-times.js';
import {
  type Choice,
  choosePlace,
  choosePosition,
  type LogPlace,
  placeAfterTruncation,
  type RotatedLog,
  rotatedLines,
} from './rotated-logs.js';

/** The offset of the last `lines` lines of a file, and their number: fewer in a shorter file. */
async function tailOffset(
  file: FileHandle,
  size: number,
  lines: number,
): Promise<{ readonly offset: number; readonly found: number }> {
  const buffer = Buffer.alloc(chunkBytes);
  let found = 0;
  for (let end = size; end > 0; ) {
    const start = Math.max(0, end - chunkBytes);
    const { bytesRead } = await file.read(buffer, 0, end - start, start);
    for (let at = bytesRead - 1; at >= 0; at -= 1) {
      // The final line feed ends the last line and begins no other.
      if (buffer[at] !== 0x0a || start + at === size - 1) continue;
      found += 1;
      if (found === lines) return { offset: start + at + 1, found };
    }
    end = start;
  }
  return { offset: 0, found: size > 0 ? found + 1 : 0 };
}

/**
 * Watches a file. `next` resolves once the file has changed since the previous call, when the watch fails, or when the
 * signal aborts.
 */
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

/** The range of a log to read. */
export interface LogOptions {
  /** Number of last lines to start with; 0 for all. */
  readonly tail: number;
  readonly follow: boolean;
  /** Probe interval, in milliseconds, of a followed log that does not exist yet; default: that of {@link defaultPolicy}. */
  readonly probeMs?: number;
  readonly signal: AbortSignal;
  /** Continue after this position; overrides `tail` and `since`. */
  readonly after?: LogPosition | undefined;
  /**
   * Only lines since this time, milliseconds since the epoch. Earlier lines are included: those after the last record
   * of the size, or of the whole rotated file.
   */
  readonly since?: number | undefined;
}

/** The place of the last `tail` lines of all files; of all lines if `tail` is 0. */
async function chooseTail(
  file: FileHandle,
  logs: readonly RotatedLog[],
  tail: number,
): Promise<Choice> {
  let left = tail;
  const files = [{ file, size: (await file.stat()).size }, ...logs];
  for (const [index, each] of files.entries()) {
    if (left <= 0) break;
    const { offset, found } = await tailOffset(each.file, each.size, left);
    if (found >= left) return { at: index - 1, offset };
    left -= found;
  }
  return { at: logs.length - 1, offset: 0 };
}

/** The place from which the files contain every line since a time. */
async function chooseSince(
  path: string,
  logs: readonly RotatedLog[],
  since: number,
): Promise<Choice> {
  const at = logs.findLastIndex(({ endedAt }) => endedAt >= since);
  return { at, offset: at < 0 ? await offsetSince(path, since) : 0 };
}

/** The place where a reader begins. */
function firstPlace(
  path: string,
  file: FileHandle,
  { after, tail, since }: LogOptions,
): Promise<LogPlace> {
  return choosePlace(path, async (logs) => {
    if (after)
      return (await holds(file, after))
        ? { at: -1, offset: after.offset }
        : choosePosition(logs, after);
    const last = await chooseTail(file, logs, tail);
    if (since === undefined) return last;
    const recent = await chooseSince(path, logs, since);
    if (last.at !== recent.at) return last.at < recent.at ? last : recent;
    return last.offset > recent.offset ? last : recent;
  });
}

/** The content of a growing file after what was cut, at most one chunk; undefined if the file was truncated. */
async function nextChunk(
  file: FileHandle,
  cutter: LineCutter,
  buffer: Buffer,
): Promise<Buffer | undefined> {
  const { offset, before } = cutter.read;
  // One read gets both: a truncated file may have grown beyond the offset since.
  const length = before.length + chunkBytes;
  const { bytesRead } = await file.read(buffer, 0, length, offset - before.length);
  const isSame = buffer.subarray(0, Math.min(bytesRead, before.length)).equals(before);
  return isSame ? buffer.subarray(before.length, bytesRead) : undefined;
}

/**
 * Yields lines of a log, first those of the rotated files. When the file is rotated, the rest of it is read from its
 * copy. With `follow` the reader waits for a missing file and for more lines until the signal aborts, and an unfinished
 * last line is not yielded. Without `follow` a missing file has no lines.
 * @throws Error if a file of the log is not a regular file, or can't be read
 */
export async function* readLines(path: string, options: LogOptions): AsyncIterable<ReadLine> {
  const { signal, follow } = options;
  let file = await openLogToRead(path);
  // A reader may follow a log before its workload starts.
  while (!file && follow && !signal.aborted) {
    await sleep(systemClock, options.probeMs ?? defaultPolicy.logProbeMs, signal);
    file = await openLogToRead(path);
  }
  if (!file) return;
  const changes = follow ? changed(path, signal) : undefined;
  const buffer = Buffer.alloc(2 * chunkBytes);
  try {
    let position: LogPosition = options.after ?? { offset: 0, check: 0 };
    let place = await firstPlace(path, file, options);
    for (;;) {
      const older = yield* rotatedLines(path, place, position);
      const cutter = await cutterAt(file, place.log ? 0 : place.offset);
      for (;;) {
        const chunk = await nextChunk(file, cutter, buffer);
        if (!chunk) break;
        if (chunk.length > 0) {
          yield* cutter.cut(chunk);
          continue;
        }
        if (changes) await changes.next();
        if (changes && !signal.aborted) continue;
        if (!follow) yield* cutter.end();
        return;
      }
      position = cutter.position;
      place = await placeAfterTruncation(path, older, position);
    }
  } finally {
    changes?.close();
    await file.close();
  }
}
