import { dirname } from 'node:path';
import { crc32 } from 'node:zlib';
import type { Clock, Timer } from '../../base/index.js';
import { type FileSystem, type OpenFile, systemErrorCode } from './file-system.js';

/** Maximum lag of the mark behind the log during writes, in milliseconds. */
const writeMs = 1_000;
/** Two copies in separate sectors, written alternately: a torn write leaves the other one intact. */
const slotBytes = 512;
const slots = [0, 1] as const;

function encodeSlot(revision: number): Buffer {
  const slot = Buffer.alloc(slotBytes);
  const text = `${String(revision).padStart(20)} `;
  slot.write(`${text}${crc32(text).toString(16).padStart(8, '0')}\n`);
  return slot;
}

function decodeSlot(slot: Buffer): number | undefined {
  const [, text = '', checksum] = /^( *\d+ )([0-9a-f]{8})\n/.exec(slot.toString('latin1')) ?? [];
  const good = crc32(text).toString(16).padStart(8, '0') === checksum;
  return good ? Number(text) : undefined;
}

/** The content of a mark's file: the last revision that is known to have been written, illegible, or missing. */
export type MarkState =
  | { readonly type: 'mark'; readonly revision: number }
  | { readonly type: 'illegible' }
  | { readonly type: 'missing' };

async function readSlots(file: OpenFile): Promise<readonly (number | undefined)[]> {
  const content = await file.read(0, slotBytes * slots.length);
  return slots.map((slot) =>
    decodeSlot(content.subarray(slot * slotBytes, (slot + 1) * slotBytes)),
  );
}

/** Reads a mark's file without writing: another process may own it. */
export async function readMark(files: FileSystem, path: string): Promise<MarkState> {
  if (!(await files.exists(path))) return { type: 'missing' };
  const file = await files.open(path, 'r');
  try {
    const revision = Math.max(...(await readSlots(file)).map((mark) => mark ?? -1));
    return revision < 0 ? { type: 'illegible' } : { type: 'mark', revision };
  } finally {
    await file.close();
  }
}

/**
 * The last revision known to be written, in a file beside the database: LevelDB drops a damaged tail of its log
 * without an error, which only a record outside the database can reveal.
 */
export class HighWaterMark {
  readonly #files: FileSystem;
  readonly #path: string;
  readonly #clock: Clock;
  #known = 0;
  /** The durable revision in the file; undefined while unknown. */
  #written: number | undefined;
  /** Slot of the mark on disk; the next mark is written to the other. */
  #slot = 0;
  #file: OpenFile | undefined;
  #timer: Timer | undefined;
  #writing: Promise<void> = Promise.resolve();

  constructor(files: FileSystem, path: string, clock: Clock) {
    this.#files = files;
    this.#path = path;
    this.#clock = clock;
  }

  /** Opens the file and returns its content. A missing file is not created. @throws the system's error */
  async read(): Promise<MarkState> {
    try {
      this.#file = await this.#files.open(this.#path, 'r+');
    } catch (error) {
      if (systemErrorCode(error) === 'ENOENT') return { type: 'missing' };
      throw error;
    }
    const marks = await readSlots(this.#file);
    const revision = Math.max(...marks.map((mark) => mark ?? -1));
    if (revision < 0) return { type: 'illegible' };
    this.#slot = marks.indexOf(revision);
    this.#known = revision;
    // The mark may not be durable: its writer may have died before the sync.
    this.#written = undefined;
    return { type: 'mark', revision };
  }

  /** Creates the file atomically and durably; an illegible one is replaced. */
  async create(revision = 0): Promise<void> {
    await this.#file?.close();
    this.#file = undefined;
    const fresh = `${this.#path}.new`;
    const file = await this.#files.open(fresh, 'w');
    try {
      await file.write(Buffer.concat([encodeSlot(revision), encodeSlot(revision)]), 0);
      await file.sync();
    } finally {
      await file.close();
    }
    await this.#files.rename(fresh, this.#path);
    await this.#files.syncDirectory(dirname(this.#path));
    this.#known = revision;
    this.#written = revision;
    this.#file = await this.#files.open(this.#path, 'r+');
  }

  /** Notes a revision that is durable in the log; the file is written within a second. */
  note(revision: number): void {
    this.#known = Math.max(this.#known, revision);
    this.#timer ??= this.#clock.setTimer(
      () => {
        this.#timer = undefined;
        // A lagging mark is safe but detects less; the write is retried after a second.
        this.#write().catch(() => {
          if (this.#file) this.note(revision);
        });
      },
      writeMs,
      { background: true },
    );
  }

  /** Notes a revision and resolves when it is durable in the file. @throws the system's error */
  async confirm(revision: number): Promise<void> {
    this.#known = Math.max(this.#known, revision);
    await this.#write();
  }

  /** Writes the last revision and closes the file; if that fails, the mark lags behind the log. */
  async close(): Promise<void> {
    this.#timer?.cancel();
    this.#timer = undefined;
    // A failed write must not stop the close, in particular on a full disk.
    await this.#write().catch(() => undefined);
    await this.#file?.close();
    this.#file = undefined;
  }

  /** Serializes writes: two concurrent ones would use one slot. */
  #write(): Promise<void> {
    const written = this.#writing.then(() => this.#writeKnown());
    this.#writing = written.catch(() => undefined);
    return written;
  }

  async #writeKnown(): Promise<void> {
    if (this.#known === this.#written || !this.#file) return;
    const mark = this.#known;
    // Only a successful write switches slots: after a failed one the other slot is still valid.
    const slot = 1 - this.#slot;
    await this.#file.write(encodeSlot(mark), slot * slotBytes);
    await this.#file.sync();
    this.#slot = slot;
    this.#written = mark;
  }
}
