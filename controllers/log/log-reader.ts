import { type FileHandle, open } from 'node:fs/promises';
import { watch } from 'node:fs';
import { StringDecoder } from 'node:string_decoder';
import { sleep, systemClock } from 'kedge';

const chunkBytes = 64 * 1024;
/** A log that is not there yet is looked for this often. */
const missingMs = 250;
/** A line is cut here: memory stays bounded whatever a workload prints. */
const lineCharactersMax = 64 * 1024;

/** Where reading starts, so that the last `lines` lines follow. 0 means all. */
async function tailOffset(file: FileHandle, size: number, lines: number): Promise<number> {
  if (lines <= 0) return 0;
  const buffer = Buffer.alloc(chunkBytes);
  let found = 0;
  for (let end = size; end > 0; ) {
    const start = Math.max(0, end - chunkBytes);
    const { bytesRead } = await file.read(buffer, 0, end - start, start);
    for (let at = bytesRead - 1; at >= 0; at -= 1) {
      // The line feed that ends the file ends its last line, it does not begin another.
      if (buffer[at] !== 0x0a || start + at === size - 1) continue;
      found += 1;
      if (found === lines) return start + at + 1;
    }
    end = start;
  }
  return 0;
}

/** Resolves at the next change of the file, or when the signal aborts. */
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

/** What to read of a log. */
export interface LogOptions {
  /** Start with this many last lines; 0 means all. */
  readonly tail: number;
  readonly follow: boolean;
  readonly signal: AbortSignal;
}

async function openIfExists(path: string): Promise<FileHandle | undefined> {
  try {
    return await open(path, 'r');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw error;
  }
}

/** Lines of a growing file; a file that was emptied (rotated) is read on from its start. */
export async function* readLines(path: string, options: LogOptions): AsyncIterable<string> {
  const { signal, follow } = options;
  let file = await openIfExists(path);
  // Following starts before the workload does, too.
  while (!file && follow && !signal.aborted) {
    await sleep(systemClock, missingMs, signal);
    file = await openIfExists(path);
  }
  if (!file) return;
  const changes = follow ? changed(path, signal) : undefined;
  const decoder = new StringDecoder('utf8');
  const buffer = Buffer.alloc(chunkBytes);
  let rest = '';
  try {
    let offset = await tailOffset(file, (await file.stat()).size, options.tail);
    for (;;) {
      const { bytesRead } = await file.read(buffer, 0, chunkBytes, offset);
      if (bytesRead > 0) {
        offset += bytesRead;
        const lines = (rest + decoder.write(buffer.subarray(0, bytesRead))).split('\n');
        rest = lines.pop() ?? '';
        if (rest.length > lineCharactersMax) {
          lines.push(rest);
          rest = '';
        }
        yield* lines;
        continue;
      }
      if (!changes) break;
      await changes.next();
      if (signal.aborted) break;
      if ((await file.stat()).size < offset) offset = 0;
    }
    if (rest !== '' && !follow) yield rest;
  } finally {
    changes?.close();
    await file.close();
  }
}
