import type { FileSystem } from './file-system.js';

/** Overhead of an entry in LevelDB's skip list: sequence number, lengths, pointers. */
const entryBytes = 48;
/**
 * Memory is taken in blocks of this size. An entry smaller than a quarter of a block leaves at most a quarter of it
 * unused.
 */
const blockBytes = 4_096;

/**
 * Makes the names of LevelDB's logs durable.
 *
 * LevelDB starts a new log when its write buffer is full. It syncs the content, but the name of the file only with
 * the next table. Until then, by POSIX, a power loss may remove the whole file with acknowledged writes. (ext4, XFS
 * and Btrfs do not: they make the name of a new file durable with its content.) The directory is therefore synced
 * before the first write in a new log is acknowledged. It is read only after enough writes to fill the buffer.
 */
export class LogNames {
  readonly #files: FileSystem;
  readonly #path: string;
  readonly #writeBufferBytes: number;
  /** The newest log whose name is durable. */
  #durable = 0;
  /** Upper bound of the bytes of the present write buffer. */
  #bufferBytes = 2 * blockBytes;
  /** Bytes of the present write in the write buffer. */
  #writeBytes = 0;

  /** @param path the database's directory, whose present names are all durable */
  constructor(files: FileSystem, path: string, writeBufferBytes: number) {
    this.#files = files;
    this.#path = path;
    this.#writeBufferBytes = writeBufferBytes;
  }

  /** Reads the initial logs. */
  async open(): Promise<void> {
    this.#durable = await this.#newest();
  }

  /** Counts an entry of this many bytes that is about to be written. */
  note(size: number): void {
    const taken = size + entryBytes;
    const bytes = taken < blockBytes / 4 ? (taken * 4) / 3 : taken;
    this.#bufferBytes += bytes;
    this.#writeBytes += bytes;
  }

  /**
   * Resolves when new names are durable. Call it after a write, before it is acknowledged; undefined if no wait is
   * needed.
   */
  settle(): Promise<void> | undefined {
    const written = this.#writeBytes;
    this.#writeBytes = 0;
    return this.#bufferBytes > this.#writeBufferBytes ? this.#read(written) : undefined;
  }

  async #read(written: number): Promise<void> {
    const newest = await this.#newest();
    if (newest === this.#durable) return;
    await this.#files.syncDirectory(this.#path);
    this.#durable = newest;
    // This write was the first in the new log.
    this.#bufferBytes = written + 2 * blockBytes;
  }

  async #newest(): Promise<number> {
    let newest = 0;
    for (const { name } of await this.#files.readDirectory(this.#path)) {
      const [, digits] = /^(\d+)\.log$/.exec(name) ?? [];
      if (digits !== undefined) newest = Math.max(newest, Number(digits));
    }
    return newest;
  }
}
