import { type FileHandle, open } from 'node:fs/promises';
import { crc32 } from 'node:zlib';
import { type Clock, StatusError, type Timer } from '../base/index.js';

/** The mark lags behind the log by at most this. */
const writeMs = 1_000;
/** Two copies in sectors of their own, written in turn: a torn write leaves the other. */
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

/**
 * The last revision known to be written, in a file beside the database: LevelDB loses a damaged tail
 * without a word (research/reliability.md section 1), and only a witness outside it can tell.
 */
export class HighWaterMark {
  readonly #file: string;
  readonly #clock: Clock;
  #known = 0;
  #written = 0;
  #slot = 0;
  #handle: FileHandle | undefined;
  #timer: Timer | undefined;
  #writing: Promise<void> | undefined;

  constructor(file: string, clock: Clock) {
    this.#file = file;
    this.#clock = clock;
  }

  /** The mark as it was left; undefined when there is no file. @throws StatusError DataLoss for a file that holds no mark. */
  async read(): Promise<number | undefined> {
    try {
      this.#handle = await open(this.#file, 'r+');
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
      throw error;
    }
    const content = await this.#handle.readFile();
    const marks = slots.map((slot) =>
      decodeSlot(content.subarray(slot * slotBytes, (slot + 1) * slotBytes)),
    );
    const mark = Math.max(...marks.map((m) => m ?? -1));
    if (mark < 0)
      throw new StatusError({
        code: 'DataLoss',
        reason: 'Damaged',
        message: `${this.#file} holds no revision: it is damaged; restore the data directory from a backup`,
      });
    this.#slot = marks.indexOf(mark);
    this.#known = mark;
    this.#written = mark;
    return mark;
  }

  /** Makes the file, durable, at revision 0. Its directory is the caller's to sync. */
  async create(): Promise<void> {
    this.#handle = await open(this.#file, 'w', 0o600);
    await this.#handle.write(Buffer.concat([encodeSlot(0), encodeSlot(0)]), 0);
    await this.#handle.sync();
  }

  /** Notes a revision that is durable; the file follows within a second. */
  note(revision: number): void {
    this.#known = Math.max(this.#known, revision);
    this.#timer ??= this.#clock.setTimer(
      () => {
        this.#timer = undefined;
        // A mark that can't be written stays behind the log, which is safe.
        this.#writing = this.#write().catch(() => undefined);
      },
      writeMs,
      { background: true },
    );
  }

  async close(): Promise<void> {
    this.#timer?.cancel();
    await this.#writing;
    // As above: behind is safe, and closing must go on (a full disk is when it matters).
    await this.#write().catch(() => undefined);
    await this.#handle?.close();
    this.#handle = undefined;
  }

  async #write(): Promise<void> {
    if (this.#known === this.#written || !this.#handle) return;
    const mark = this.#known;
    this.#slot = 1 - this.#slot;
    await this.#handle.write(encodeSlot(mark), 0, slotBytes, this.#slot * slotBytes);
    await this.#handle.datasync();
    this.#written = mark;
  }
}
