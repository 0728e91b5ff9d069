import { createHash } from 'node:crypto';
import { join } from 'node:path';
import { messageOf, StatusError } from '../../base/index.js';
import type { Reserve } from '../engine/engine.js';
import { type FileSystem, systemErrorCode } from './file-system.js';

const folderName = 'reserve';
const pieces = ['1', '2', '3', '4'] as const;
const blockBytes = 1024 * 1024;

/** Free bytes that an opening needs: the lock's log, a manifest, a log, and a table of 16 MiB. */
export const openingBytes = 20 * 1024 * 1024;

/** A block that file systems can't compress or store as a hole. */
function fillerBlock(): Buffer {
  return createHash('shake256', { outputLength: blockBytes }).update(folderName).digest();
}

/**
 * The reserve of a data directory: four files of equal size in its folder `reserve`. They are written completely,
 * because a sparse file reserves nothing, and removed one by one, because every process of the machine can use
 * released bytes.
 */
export class ReserveFolder implements Reserve {
  readonly #files: FileSystem;
  readonly #directory: string;
  readonly #isOwner: () => boolean;

  /** @param isOwner whether this process has the directory's lock: only the holder creates files there */
  constructor(files: FileSystem, directory: string, isOwner: () => boolean) {
    this.#files = files;
    this.#directory = directory;
    this.#isOwner = isOwner;
  }

  get #folder(): string {
    return join(this.#directory, folderName);
  }

  async held(): Promise<number> {
    let bytes = 0;
    for (const piece of await this.#present()) bytes += await this.#size(piece);
    return bytes;
  }

  async layPiece(wholeBytes: number, keepFreeBytes: number): Promise<boolean> {
    const pieceBytes = Math.ceil(wholeBytes / pieces.length);
    for (const piece of pieces) {
      if ((await this.#size(piece)) >= pieceBytes) continue;
      const free = await this.#files.freeBytes(this.#directory);
      if (!this.#isOwner() || (free !== undefined && free - pieceBytes < keepFreeBytes))
        return false;
      await this.#write(join(this.#folder, piece), pieceBytes);
      return true;
    }
    return false;
  }

  async release(freeBytes: number): Promise<number> {
    let released = 0;
    for (;;) {
      const free = await this.#files.freeBytes(this.#directory);
      if (free === undefined || free >= freeBytes) return released;
      const piece = (await this.#present()).at(-1);
      if (piece === undefined) return released;
      released += await this.#size(piece);
      await this.#files.remove(join(this.#folder, piece));
    }
  }

  async #present(): Promise<readonly string[]> {
    try {
      const names = new Set((await this.#files.readDirectory(this.#folder)).map((e) => e.name));
      return pieces.filter((piece) => names.has(piece));
    } catch (error) {
      if (systemErrorCode(error) === 'ENOENT') return [];
      throw error;
    }
  }

  async #size(piece: string): Promise<number> {
    try {
      return await this.#files.size(join(this.#folder, piece));
    } catch (error) {
      if (systemErrorCode(error) === 'ENOENT') return 0;
      throw error;
    }
  }

  /** Writes a piece completely or removes it. */
  async #write(path: string, bytes: number): Promise<void> {
    await this.#files.makeDirectory(this.#folder);
    const block = fillerBlock();
    const file = await this.#files.open(path, 'w');
    try {
      for (let at = 0; at < bytes; at += block.length)
        await file.write(block.subarray(0, Math.min(block.length, bytes - at)), at);
      // Some file systems allocate blocks only when the content is flushed.
      await file.sync();
    } catch (error) {
      await this.#files.remove(path).catch(() => undefined);
      throw error;
    } finally {
      await file.close();
    }
  }
}

/**
 * Takes the lock of a directory. If the lock can't be created, it releases the reserve and retries, because the lock's
 * files need space. Another holder is reported before any space is needed.
 * @throws errors of `lock`
 */
export async function lockWithReserve<T>(lock: () => Promise<T>, reserve: Reserve): Promise<T> {
  try {
    return await lock();
  } catch (error) {
    if (!(error instanceof StatusError) || error.reason !== 'LockUnavailable') throw error;
    if ((await reserve.release(openingBytes)) === 0) throw error;
    return await lock();
  }
}

/** Explains an opening that failed on a full disk; returns any other error unchanged. */
export async function explainNoRoom(
  error: unknown,
  files: FileSystem,
  directory: string,
): Promise<unknown> {
  if (!/ENOSPC|EDQUOT|No space left|quota exceeded/i.test(messageOf(error))) return error;
  const free = await files.freeBytes(directory).catch(() => undefined);
  // The disk is not known to be full; a quota or missing inodes may be the cause. The error itself names it.
  if (free === undefined || free >= openingBytes) return error;
  return new StatusError({
    code: 'Unavailable',
    reason: 'NoRoomToOpen',
    message: `the disk of ${directory} is full: ${free} bytes are free, opening the store needs up to ${openingBytes}, and no reserve is left in ${join(directory, folderName)}; remove or move files on that disk, or enlarge it, then start again (${messageOf(error)})`,
    cause: error,
  });
}
