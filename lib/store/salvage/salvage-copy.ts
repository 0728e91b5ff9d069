import { join } from 'node:path';
import { messageOf, StatusError } from '../../base/index.js';
import type { FileSystem } from '../directory/file-system.js';
import { checkTable } from '../table/table-check.js';
import { readTable, type TableEntry } from '../table/table-entries.js';

/** Bytes per read of a file that can't be read as a whole. */
const pieceBytes = 4_096;

/** A file of a database that can't be read completely. */
export interface DamagedFile {
  readonly name: string;
  /** The damage, for messages. */
  readonly detail: string;
}

/** A copy of a database for salvage. */
export interface SalvageCopy {
  readonly damagedFiles: readonly DamagedFile[];
  /** The entries in intact blocks of damaged tables; the tables are not in the copy. */
  readonly rescued: readonly TableEntry[];
}

interface ReadFile {
  readonly bytes: Buffer;
  /** Unreadable pieces, which are zeros. */
  readonly unreadable: number;
}

async function readPieces(files: FileSystem, path: string): Promise<ReadFile> {
  const size = await files.size(path);
  const bytes = Buffer.alloc(size);
  const file = await files.open(path, 'r');
  let unreadable = 0;
  try {
    for (let at = 0; at < size; at += pieceBytes) {
      try {
        (await file.read(at, Math.min(pieceBytes, size - at))).copy(bytes, at);
      } catch {
        unreadable += 1;
      }
    }
  } finally {
    await file.close();
  }
  return { bytes, unreadable };
}

async function readAnyhow(files: FileSystem, path: string): Promise<ReadFile> {
  try {
    return { bytes: await files.readFile(path), unreadable: 0 };
  } catch {
    return readPieces(files, path);
  }
}

/** The damage of a table and the entries of its intact blocks; undefined for an intact table. */
function damagedTable(
  bytes: Buffer,
): { readonly detail: string; readonly entries: readonly TableEntry[] } | undefined {
  try {
    checkTable(bytes);
    return undefined;
  } catch (error) {
    const whole = messageOf(error);
    try {
      const { entries, blocks, damagedBlocks } = readTable(bytes);
      return { detail: `${damagedBlocks} of ${blocks} blocks are lost`, entries };
    } catch {
      return {
        detail: `the file can't be read and its whole content is lost: ${whole}`,
        entries: [],
      };
    }
  }
}

/**
 * Copies the database in `from` into the new directory `to`, without files that can't be opened and without damaged
 * tables, on which LevelDB could abort the process. Unreadable pieces of other files become zeros. It writes nothing in
 * `from`.
 * @throws StatusError Unavailable (ScratchUnwritable)
 */
export async function copyForSalvage(
  files: FileSystem,
  from: string,
  to: string,
): Promise<SalvageCopy> {
  const damagedFiles: DamagedFile[] = [];
  const rescued: TableEntry[] = [];
  await files.makeDirectory(to);
  const entries = await files.readDirectory(from);
  const names = entries.flatMap(({ name, type }) => (type === 'file' ? [name] : []));
  for (const name of names.sort()) {
    let read: ReadFile;
    try {
      read = await readAnyhow(files, join(from, name));
    } catch (error) {
      damagedFiles.push({
        name,
        detail: `the file can't be read and its whole content is lost: ${messageOf(error)}`,
      });
      continue;
    }
    const table = /\.(ldb|sst)$/.test(name) ? damagedTable(read.bytes) : undefined;
    if (table) {
      damagedFiles.push({ name, detail: table.detail });
      rescued.push(...table.entries);
      continue;
    }
    if (read.unreadable > 0) {
      const detail = `${read.unreadable} blocks of ${pieceBytes} bytes can't be read`;
      damagedFiles.push({ name, detail });
    }
    await writeWhole(files, join(to, name), read.bytes).catch((cause: unknown) => {
      throw unwritable(to, cause);
    });
  }
  return { damagedFiles, rescued };
}

function unwritable(to: string, cause: unknown): StatusError {
  return new StatusError({
    code: 'Unavailable',
    reason: 'ScratchUnwritable',
    message: `the copy ${to} of the database can't be written (${messageOf(cause)}), and was removed; free disk space beside the backup (without a backup: in TMPDIR), or use another disk`,
    cause,
  });
}

async function writeWhole(files: FileSystem, path: string, bytes: Buffer): Promise<void> {
  const file = await files.open(path, 'wx');
  try {
    await file.write(bytes, 0);
  } finally {
    await file.close();
  }
}
