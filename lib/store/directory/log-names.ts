import type { FileSystem } from './file-system.js';

/** What a skip list of LevelDB spends on an entry beside its bytes: sequence number, lengths, pointers. */
const entryBytes = 48;
/** Memory is taken in blocks; an entry smaller than a quarter of one leaves at most a quarter unused. */
const blockBytes = 4_096;

/**
 * Makes the names of LevelDB's logs durable.
 *
 * LevelDB begins a new log when its write buffer is full. It syncs what it writes there, but the name
 * of the file only with the table that follows. Until then POSIX allows a power loss to take the
 * whole file, acknowledged writes included. (ext4, XFS and Btrfs do not: they make the name of a new
 * file durable with its content.) So the directory is synced before the first write in a new log is
 * acknowledged. It is looked at only when so much was written that the buffer may be full.
 */
export class LogNames {
  readonly #files: FileSystem;
  readonly #path: string;
  readonly #writeBufferBytes: number;
  /** The newest log whose name is durable. */
  #durable = 0;
  /** No less than what the entries of the present write buffer take. */
  #bufferBytes = 2 * blockBytes;
  /** What of that the present write brings. */
  #writeBytes = 0;

  /** @param path the database's directory, whose names are all durable now */
  constructor(files: FileSystem, path: string, writeBufferBytes: number) {
    this.#files = files;
    this.#path = path;
    this.#writeBufferBytes = writeBufferBytes;
  }

  /** Looks which logs there are at the beginning. */
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

  /** After a write, before it is acknowledged; undefined when there is nothing to wait for. */
  settle(): Promise<void> | undefined {
    const written = this.#writeBytes;
    this.#writeBytes = 0;
    return this.#bufferBytes > this.#writeBufferBytes ? this.#look(written) : undefined;
  }

  async #look(written: number): Promise<void> {
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
