import { type Random, seededRandom } from '../base/index.js';
import type { Database, DatabaseBatch, Durability, FileSystem, OpenFile } from '../store/index.js';
import { LogEncoder, readLog } from './model-log.js';
import {
  type Entry,
  type Manifest,
  readNamed,
  encodeEntries,
  decodeEntries,
  encodeManifest,
  readManifest,
  writeWhole,
} from './model-files.js';

/** Options of {@link modelDriver}. */
export interface ModelDriverOptions {
  readonly files: FileSystem;
  /** Decides when memory becomes a table, and how much of a record a failed write leaves; default seed 1. */
  readonly random?: Random;
  /** Bytes in memory after which a new log is started; default 4096. */
  readonly memoryBytes?: number;
}

/** Maximum number of tables. At the maximum, the next table has the content of all. */
const tablesMax = 4;

/**
 * A database with the guarantees of LevelDB and no more, on a given file system:
 * - An unsynced write may be lost at a power loss, even if later writes survive: a log is not synced when a new one
 *   is started.
 * - An invalid record of the log is skipped silently, with the rest of its block.
 * - After a failed write the next one is accepted. Records after a partial record are not found when the
 *   database is opened again.
 * - After a failed sync, or a failed write of a table, every write fails until the database is opened again.
 * - Values in tables are returned as stored: no checksum is verified.
 *
 * The name of a new log is durable with its first sync, as on file systems that order names in a journal (ext4, XFS,
 * btrfs).
 */
export class ModelDatabase implements Database {
  readonly #files: FileSystem;
  readonly #path: string;
  readonly #random: Random;
  readonly #memoryBytes: number;
  /** The content that readers see. */
  readonly #current = new Map<string, Buffer>();
  #sorted: string[] | undefined;
  #manifest: Manifest = { tables: [], log: 1, next: 1 };
  #memory = new Map<string, Buffer | undefined>();
  #memorySize = 0;
  #log: OpenFile | undefined;
  #logEnd = 0;
  #logNamed = false;
  #encoder = new LogEncoder();
  /** Memory of the previous log that becomes a table, and the number of writes until then. */
  #leaving:
    | { readonly entries: ReadonlyMap<string, Buffer | undefined>; writesLeft: number }
    | undefined;
  #failure: Error | undefined;
  #work: Promise<unknown> = Promise.resolve();

  constructor(path: string, options: ModelDriverOptions) {
    this.#files = options.files;
    this.#path = path;
    this.#random = options.random ?? seededRandom(1);
    this.#memoryBytes = options.memoryBytes ?? 4_096;
  }

  async recover(): Promise<void> {
    const files = this.#files;
    if (await files.exists(this.#at('CURRENT'))) {
      this.#manifest = await readManifest(files, this.#path);
      for (const number of this.#manifest.tables) {
        const entries = decodeEntries(await readNamed(files, this.#table(number)));
        for (const entry of entries) this.#apply(entry);
      }
    }
    const recovered = new Map<string, Buffer | undefined>();
    for (const number of await this.#numbers('log')) {
      if (number < this.#manifest.log) continue;
      for (const record of readLog(await files.readFile(this.#at(`${number}.log`))))
        for (const [key, value] of decodeEntries(record)) {
          recovered.set(key, value);
          this.#apply([key, value]);
        }
      const next = Math.max(this.#manifest.next, number + 1);
      this.#manifest = { ...this.#manifest, next };
    }
    await this.#writeTable(recovered, this.#manifest.next + 1);
    await this.#newLog();
  }

  get(key: Buffer): Promise<Buffer | undefined> {
    return this.#alone(async () => {
      await this.#touch();
      return this.#current.get(key.toString('latin1'));
    });
  }

  put(key: Buffer, value: Buffer, durability: Durability): Promise<void> {
    return this.batch().put(key, value).write(durability);
  }

  batch(): DatabaseBatch {
    const entries: Entry[] = [];
    const batch: DatabaseBatch = {
      put: (key, value) => (entries.push([key.toString('latin1'), Buffer.from(value)]), batch),
      del: (key) => (entries.push([key.toString('latin1'), undefined]), batch),
      write: (durability) => this.#alone(() => this.#write(entries, durability)),
    };
    return batch;
  }

  iterator({
    gte,
    lt,
  }: {
    readonly gte: Buffer;
    readonly lt: Buffer;
  }): ReturnType<Database['iterator']> {
    const [from, to] = [gte.toString('latin1'), lt.toString('latin1')];
    this.#sorted ??= [...this.#current.keys()].sort();
    const keys = this.#sorted.filter((key) => key >= from && key < to);
    const entries = keys.map((key) => [key, this.#current.get(key)] as const);
    let at = 0;
    return {
      nextv: (count) =>
        this.#alone(async () => {
          await this.#touch();
          const chunk = entries.slice(at, at + count);
          at += chunk.length;
          return chunk.map(
            ([key, value]) => [Buffer.from(key, 'latin1'), value ?? Buffer.alloc(0)] as const,
          );
        }),
      close: () => Promise.resolve(),
    };
  }

  async close(): Promise<void> {
    await this.#work;
    await this.#log?.close().catch(() => undefined);
    this.#log = undefined;
  }

  /** Serializes the calls. */
  #alone<R>(work: () => Promise<R>): Promise<R> {
    const result = this.#work.then(work);
    this.#work = result.catch(() => undefined);
    return result;
  }

  /** Reads from the disk, so that read faults take effect. @throws Error like LevelDB for a failed read */
  async #touch(): Promise<void> {
    try {
      await this.#files.size(this.#at('CURRENT'));
    } catch (error) {
      throw Object.assign(new Error(`IO error: ${String(error)}`), { code: 'LEVEL_IO_ERROR' });
    }
  }

  async #write(entries: readonly Entry[], durability: Durability): Promise<void> {
    if (this.#failure) throw this.#failure;
    if (this.#memorySize > this.#memoryBytes) await this.#leaveLog();
    const record = this.#encoder.encode(encodeEntries(entries));
    const log = this.#log;
    if (!log) throw new Error('IO error: the log is closed');
    try {
      await log.write(record, this.#logEnd);
      this.#logEnd += record.length;
    } catch (error) {
      // A failed write may leave a part of the record, as on a full disk.
      const part = record.subarray(0, Math.floor(this.#random.next() * record.length));
      await log.write(part, this.#logEnd).then(
        () => (this.#logEnd += part.length),
        () => undefined,
      );
      throw error;
    }
    if (durability === 'synced') await this.#failing(() => this.#sync(log));
    for (const entry of entries) {
      this.#memory.set(...entry);
      this.#memorySize += entry[0].length + (entry[1]?.length ?? 0);
      this.#apply(entry);
    }
    if (this.#leaving && (this.#leaving.writesLeft -= 1) < 0)
      await this.#failing(() => this.#finishLeaving()).catch(() => undefined);
  }

  async #sync(log: OpenFile): Promise<void> {
    await log.sync();
    if (!this.#logNamed) await this.#files.syncDirectory(this.#path);
    this.#logNamed = true;
  }

  /** Runs work whose failure makes all later writes fail. */
  async #failing(work: () => Promise<void>): Promise<void> {
    try {
      await work();
    } catch (error) {
      this.#failure = error instanceof Error ? error : new Error(String(error));
      throw error;
    }
  }

  /** Starts a new log. The old one is not synced, and its memory becomes a table after some writes. */
  async #leaveLog(): Promise<void> {
    await this.#failing(() => this.#finishLeaving());
    const old = this.#log;
    await this.#newLog();
    await old?.close();
    this.#leaving = { entries: this.#memory, writesLeft: Math.floor(this.#random.next() * 6) };
    this.#memory = new Map();
    this.#memorySize = 0;
  }

  async #finishLeaving(): Promise<void> {
    if (!this.#leaving) return;
    await this.#writeTable(this.#leaving.entries, this.#manifest.next - 1);
    this.#leaving = undefined;
  }

  async #newLog(): Promise<void> {
    const number = this.#manifest.next;
    this.#log = await this.#files.open(this.#at(`${number}.log`), 'w');
    this.#manifest = { ...this.#manifest, next: number + 1 };
    this.#logEnd = 0;
    this.#logNamed = false;
    this.#encoder = new LogEncoder();
  }

  /** Makes a table durable, then the manifest that names it. Logs before `log` are no longer needed. */
  async #writeTable(entries: ReadonlyMap<string, Buffer | undefined>, log: number): Promise<void> {
    const number = Math.max(this.#manifest.next, log);
    let { tables } = this.#manifest;
    if (entries.size > 0) {
      const whole = tables.length >= tablesMax;
      await writeWhole(
        this.#files,
        this.#table(number),
        encodeEntries(whole ? this.#current : entries),
      );
      tables = whole ? [number] : [...tables, number];
    }
    const manifest = { tables, log, next: number + 1 };
    const name = `MANIFEST-${number}`;
    await writeWhole(this.#files, this.#at(name), encodeManifest(manifest));
    await this.#files.syncDirectory(this.#path);
    await writeWhole(this.#files, this.#at('CURRENT.tmp'), Buffer.from(name));
    await this.#files.rename(this.#at('CURRENT.tmp'), this.#at('CURRENT'));
    await this.#files.syncDirectory(this.#path);
    this.#manifest = manifest;
    await this.#removeObsolete(name).catch(() => undefined);
  }

  async #removeObsolete(manifestName: string): Promise<void> {
    const { tables, log } = this.#manifest;
    for (const { name } of await this.#files.readDirectory(this.#path)) {
      const number = parseInt(name, 10);
      const obsolete =
        (name.endsWith('.ldb') && !tables.includes(number)) ||
        (name.endsWith('.log') && number < log) ||
        (name.startsWith('MANIFEST-') && name !== manifestName);
      if (obsolete) await this.#files.remove(this.#at(name));
    }
  }

  async #numbers(ending: string): Promise<readonly number[]> {
    const names = (await this.#files.readDirectory(this.#path)).map(({ name }) => name);
    const found = names.filter((name) => name.endsWith(`.${ending}`));
    return found.map((name) => parseInt(name, 10)).sort((a, b) => a - b);
  }

  #apply([key, value]: Entry): void {
    this.#sorted = undefined;
    if (value) this.#current.set(key, value);
    else this.#current.delete(key);
  }

  #at(name: string): string {
    return `${this.#path}/${name}`;
  }

  #table(number: number): string {
    return this.#at(`${number}.ldb`);
  }
}
