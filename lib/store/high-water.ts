import { open, readFile } from 'node:fs/promises';
import { type Clock, StatusError, type Timer } from '../base/index.js';

/** The mark lags behind the log by at most this. */
const writeMs = 1_000;
/** One number, right-aligned, so that every write replaces the one before in place. */
const width = 20;

/**
 * The last revision known to be written, in a file beside the database: LevelDB loses a damaged tail
 * without a word (research/reliability.md section 1), and only a witness outside it can tell.
 */
export class HighWaterMark {
  readonly #file: string;
  readonly #clock: Clock;
  #known = 0;
  #written = 0;
  #timer: Timer | undefined;
  #writing: Promise<void> | undefined;

  constructor(file: string, clock: Clock) {
    this.#file = file;
    this.#clock = clock;
  }

  /** The mark as it was left; 0 when there is none yet. @throws StatusError DataLoss for a file that is no mark. */
  async read(): Promise<number> {
    let text: string;
    try {
      text = await readFile(this.#file, 'utf8');
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'ENOENT') return 0;
      throw error;
    }
    const mark = Number(text);
    if (!/^ *\d+\n$/.test(text) || !Number.isSafeInteger(mark))
      throw new StatusError({
        code: 'DataLoss',
        reason: 'Damaged',
        message: `${this.#file} does not hold a revision: it is damaged; restore the data directory from a backup`,
      });
    this.#known = mark;
    this.#written = mark;
    return mark;
  }

  /** Notes a revision that is durable; the file follows within a second. */
  note(revision: number): void {
    this.#known = revision;
    this.#timer ??= this.#clock.setTimer(() => {
      this.#timer = undefined;
      // A mark that can't be written stays behind the log, which is safe.
      this.#writing = this.#write().catch(() => undefined);
    }, writeMs);
  }

  async close(): Promise<void> {
    this.#timer?.cancel();
    await this.#writing;
    // As above: behind is safe, and closing must go on (a full disk is when it matters).
    await this.#write().catch(() => undefined);
  }

  async #write(): Promise<void> {
    if (this.#known === this.#written) return;
    const mark = this.#known;
    const handle = await open(this.#file, this.#written === 0 ? 'w' : 'r+', 0o600);
    try {
      await handle.write(`${String(mark).padStart(width)}\n`, 0);
      await handle.datasync();
    } finally {
      await handle.close();
    }
    this.#written = mark;
  }
}
