import { constants } from 'node:fs';
import { type FileHandle, open, realpath, rename, rm } from 'node:fs/promises';
import { basename, dirname, join, resolve } from 'node:path';
import { setImmediate } from 'node:timers/promises';
import { type Clock, type Counter, type Logger, messageOf, type Metrics } from 'kedge';
import type { AuditEntry, AuditSink } from 'kedge/server';
import { FairQueue } from './fair-queue.js';

const fileBytesMax = 64 * 1024 * 1024;
const filesKept = 4;
/** Maximum lines that wait for the disk, 2 KiB each unless names contain many escapes. */
const waitingMax = 20_000;
/**
 * Minimum time between the starts of two appends, in milliseconds. Each append wakes another thread, which costs more
 * than the lines of one call.
 */
const appendMs = 10;
/** Maximum subjects with a separate share of waiting lines. */
const subjectsMax = 256;

/** Successful reads are frequent and not recorded by default. */
const reads = new Set(['get', 'list', 'watch', '']);

/** The calls that are recorded. */
export type AuditScope = 'writes' | 'all';

/** Options of an {@link AuditLog}. */
export interface AuditLogOptions {
  readonly file: string;
  readonly scope: AuditScope;
  readonly logger: Logger;
  readonly metrics: Metrics;
  readonly clock: Clock;
  /** Lines that wait for the disk; default 20,000. */
  readonly waitingMax?: number;
  /** Opens the file for appending and reading, without following a link. */
  readonly openFile?: (file: string) => Promise<FileHandle>;
}

/**
 * Resolves the links of the configured path once. A link that replaces the file later could redirect appended
 * lines, and rotation would rename the link instead of the file.
 */
export async function auditFileAt(path: string): Promise<string> {
  const file = resolve(path);
  try {
    return await realpath(file);
  } catch {
    // The first entry creates the file and reports errors of its folder.
    const folder = await realpath(dirname(file)).catch(() => dirname(file));
    return join(folder, basename(file));
  }
}

const { O_APPEND, O_CREAT, O_NOFOLLOW, O_RDWR } = constants;

async function openUnlinked(file: string): Promise<FileHandle> {
  try {
    return await open(file, O_APPEND | O_CREAT | O_NOFOLLOW | O_RDWR, 0o600);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ELOOP') throw error;
    throw new Error(
      `${file} is a symbolic link that kedged does not follow: it has no target, or it replaced the file after the start; remove the link, or create its target and restart kedged`,
      { cause: error },
    );
  }
}

/** Ends a line that a killed process left unfinished, so that the next one is not part of it. */
async function endLastLine(handle: FileHandle): Promise<void> {
  const { size } = await handle.stat();
  if (size === 0) return;
  const { buffer } = await handle.read(Buffer.alloc(1), 0, 1, size - 1);
  if (buffer.toString() !== '\n') await handle.appendFile('\n');
}

/** The cause of lost lines: too many waited for the disk, or the disk refused them. */
type Loss = 'full' | 'unwritable';

/**
 * The audit log: one JSON document per line with subject, action and result, in a rotated file (mode 0600).
 * Refusals and revealed secrets are always recorded; other reads with scope `all`.
 *
 * A line is in the file within about 10 ms of its call, and later if the disk is slow.
 *
 * While the disk is slower than the calls, each subject has a fair share of the lines that wait: a subject over its
 * share loses its own oldest ones. Unauthenticated callers are one subject. Lost lines are reported by a line
 * `{"dropped": <count>}`, in the daemon's log and by `audit_entries_dropped_total`.
 */
export class AuditLog implements AuditSink {
  readonly #file: string;
  readonly #scope: AuditScope;
  readonly #logger: Logger;
  readonly #clock: Clock;
  readonly #openFile: (file: string) => Promise<FileHandle>;
  readonly #droppedTotal: Counter;
  readonly #waiting: FairQueue<string>;
  /** Lost lines since the last report in the file. */
  #dropped = 0;
  #handle: FileHandle | undefined;
  #bytes = 0;
  /** The last logged error; empty after a successful write. */
  #reported = '';
  #writing: Promise<void> | undefined;
  #isClosing = false;
  /** Ends the rest between two appends. */
  #endRest = (): void => undefined;

  constructor(options: AuditLogOptions) {
    const { file, scope, logger, metrics, clock } = options;
    this.#file = file;
    this.#scope = scope;
    this.#logger = logger;
    this.#clock = clock;
    this.#openFile = options.openFile ?? openUnlinked;
    const itemsMax = options.waitingMax ?? waitingMax;
    this.#waiting = new FairQueue({ itemsMax, ownersMax: subjectsMax });
    this.#droppedTotal = metrics.counter({
      name: 'audit_entries_dropped_total',
      help: 'Audit entries that are missing in the file, by cause',
      labels: ['cause'],
    });
  }

  wants(verb: string, code: AuditEntry['code']): boolean {
    return this.#scope === 'all' || !reads.has(verb) || code !== 'OK';
  }

  record(entry: AuditEntry): void {
    const line = `${JSON.stringify(entry)}\n`;
    if (this.#waiting.push(entry.subject, line) !== undefined) this.#lose('full', 1);
    this.#writing ??= this.#drain();
  }

  /** Closes the file once everything recorded is in it. */
  async close(): Promise<void> {
    this.#isClosing = true;
    this.#endRest();
    while (this.#writing) await this.#writing;
    this.#isClosing = false;
    await this.#handle?.close();
    this.#handle = undefined;
  }

  async #drain(): Promise<void> {
    try {
      // The lines of this turn share one append, and answers that the turn still sends do not wait for its start.
      await setImmediate();
      while (this.#waiting.length > 0) {
        const begunMs = this.#clock.monotonic();
        await this.#append(this.#waiting.drain());
        await this.#rest(begunMs + appendMs - this.#clock.monotonic());
      }
    } finally {
      // In the same turn as the last check of the queue, so that a later entry starts another drain.
      this.#writing = undefined;
    }
  }

  /** Waits until the log is closed, at most `ms`. */
  async #rest(ms: number): Promise<void> {
    if (this.#isClosing || ms <= 0) return;
    await new Promise<void>((resolve) => {
      const timer = this.#clock.setTimer(resolve, ms);
      this.#endRest = () => {
        timer.cancel();
        resolve();
      };
    });
  }

  /** Appends lines to the file. Lines that can't be written are lost and reported. */
  async #append(lines: readonly string[]): Promise<void> {
    const dropped = this.#dropped;
    const lost = dropped === 0 ? '' : `${JSON.stringify({ dropped })}\n`;
    const text = `${lost}${lines.join('')}`;
    try {
      const handle = await this.#room();
      await handle.appendFile(text);
    } catch (error) {
      this.#lose('unwritable', lines.length);
      await this.#cutPartialLines();
      this.#report(messageOf(error), lines.length);
      return;
    }
    this.#reported = '';
    this.#bytes += Buffer.byteLength(text);
    this.#dropped -= dropped;
    if (dropped > 0)
      this.#logger.warn('entries are missing in the audit log', { file: this.#file, dropped });
  }

  /** Truncates a partial last line, which a full disk leaves. */
  async #cutPartialLines(): Promise<void> {
    try {
      const size = (await this.#handle?.stat())?.size ?? 0;
      if (size > this.#bytes) await this.#handle?.truncate(this.#bytes);
    } catch {
      // Reopening the file terminates its last line.
      await this.#handle?.close().catch(() => undefined);
      this.#handle = undefined;
    }
  }

  /** Logs an error once: on a full disk every call causes it. */
  #report(error: string, entries: number): void {
    if (error === this.#reported) return;
    this.#reported = error;
    this.#logger.error('the audit log could not be written', { file: this.#file, entries, error });
  }

  #lose(cause: Loss, count: number): void {
    this.#dropped += count;
    this.#droppedTotal.inc({ cause }, count);
  }

  async #room(): Promise<FileHandle> {
    if (this.#handle && this.#bytes < fileBytesMax) return this.#handle;
    if (this.#handle) {
      await this.#handle.close();
      this.#handle = undefined;
      await rm(`${this.#file}.${filesKept}`, { force: true });
      for (let n = filesKept - 1; n >= 0; n -= 1) {
        const from = n === 0 ? this.#file : `${this.#file}.${n}`;
        await rename(from, `${this.#file}.${n + 1}`).catch((error: NodeJS.ErrnoException) => {
          if (error.code !== 'ENOENT') throw error;
        });
      }
    }
    this.#handle = await this.#openFile(this.#file);
    await endLastLine(this.#handle);
    this.#bytes = (await this.#handle.stat()).size;
    return this.#handle;
  }
}
