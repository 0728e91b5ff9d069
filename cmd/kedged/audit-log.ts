import { type FileHandle, open, rename, rm } from 'node:fs/promises';
import { type Logger, messageOf } from 'kedge';
import type { AuditEntry, AuditSink } from 'kedge/server';

const fileBytesMax = 64 * 1024 * 1024;
const filesKept = 4;
/** Lines that wait for the disk; beyond, the oldest are dropped and their number is told. */
const waitingMax = 50_000;

/** Reads that went well say little and would drown the rest. */
const reads = new Set(['get', 'list', 'watch', '']);

/** Which calls are recorded. */
export type AuditScope = 'writes' | 'all';

/**
 * The record of who did what with which result, one JSON document a line, in a file of its own (mode
 * 0600) that is rotated. Refusals and revealed secrets are always in it; other reads with scope `all`.
 */
export class AuditLog implements AuditSink {
  readonly #file: string;
  readonly #scope: AuditScope;
  readonly #logger: Logger;
  #waiting: string[] = [];
  #dropped = 0;
  #handle: FileHandle | undefined;
  #bytes = 0;
  #writing: Promise<void> | undefined;

  constructor(file: string, scope: AuditScope, logger: Logger) {
    this.#file = file;
    this.#scope = scope;
    this.#logger = logger;
  }

  wants(verb: string, code: AuditEntry['code']): boolean {
    return this.#scope === 'all' || !reads.has(verb) || code !== 'OK';
  }

  record(entry: AuditEntry): void {
    if (this.#waiting.length >= waitingMax) {
      this.#waiting.shift();
      this.#dropped += 1;
    }
    this.#waiting.push(`${JSON.stringify(entry)}\n`);
    this.#writing ??= this.#drain().finally(() => {
      this.#writing = undefined;
    });
  }

  /** Resolves when everything recorded is in the file. */
  async close(): Promise<void> {
    while (this.#writing) await this.#writing;
    await this.#handle?.close();
    this.#handle = undefined;
  }

  async #drain(): Promise<void> {
    while (this.#waiting.length > 0) {
      const lines = this.#waiting;
      this.#waiting = [];
      const text = `${this.#lost()}${lines.join('')}`;
      try {
        const handle = await this.#room();
        await handle.appendFile(text);
        this.#bytes += Buffer.byteLength(text);
      } catch (error) {
        this.#dropped += lines.length;
        this.#logger.error('the audit log could not be written', {
          file: this.#file,
          error: messageOf(error),
        });
        return;
      }
    }
  }

  #lost(): string {
    if (this.#dropped === 0) return '';
    const line = `${JSON.stringify({ dropped: this.#dropped })}\n`;
    this.#dropped = 0;
    return line;
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
    this.#handle = await open(this.#file, 'a', 0o600);
    this.#bytes = (await this.#handle.stat()).size;
    return this.#handle;
  }
}
