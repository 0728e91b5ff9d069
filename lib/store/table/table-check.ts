import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { crc32c } from './crc32c.js';
import { DamageError } from '../directory/database-error.js';
import { systemErrorCode } from '../directory/file-system.js';
import { liveTables } from './manifest.js';
import { snappyDecompress } from './snappy.js';
import { type BlockHandle, VarintReader } from './varint-reader.js';

/** Format: LevelDB's doc/table_format.md. */
const footerBytes = 48;
const magic = 0xdb4775248b80fb57n;
/** Bytes after a block: one for its compression, four for its checksum. */
const trailerBytes = 5;
const checksumMask = 0xa282ead8;

/**
 * Returns the decompressed content of a block.
 * @throws Error for a damaged block and for one outside the file
 */
function readBlock(table: Buffer, { offset, size }: BlockHandle): Buffer {
  const end = offset + size;
  if (end + trailerBytes > table.length - footerBytes)
    throw new Error(
      `the block at byte ${offset} extends into the footer or beyond the end of the file`,
    );
  const stored = table.readUInt32LE(end + 1);
  const crc = crc32c(table.subarray(offset, end + 1));
  const masked = (((crc >>> 15) | (crc << 17)) + checksumMask) >>> 0;
  if (stored !== masked) throw new Error(`the block at byte ${offset} has a wrong checksum`);
  const content = table.subarray(offset, end);
  return table[end] === 1 ? snappyDecompress(content) : content;
}

/** The blocks that an index block names: the values of its entries. @throws Error for an invalid index block */
function handlesIn(index: Buffer): readonly BlockHandle[] {
  if (index.length < 4) throw new Error('an index block is too short');
  const restarts = index.readUInt32LE(index.length - 4);
  const end = index.length - 4 * (restarts + 1);
  const handles: BlockHandle[] = [];
  const reader = new VarintReader(index);
  while (reader.position < end) {
    reader.varint();
    const keyRest = reader.varint();
    const valueBytes = reader.varint();
    const value = reader.position + keyRest;
    handles.push(new VarintReader(index, value).handle());
    reader.position = value + valueBytes;
  }
  return handles;
}

/** The data blocks of a table, and the other blocks that its index names. */
function layoutOf(table: Buffer): {
  readonly data: readonly BlockHandle[];
  readonly others: readonly BlockHandle[];
} {
  if (table.length < footerBytes) throw new Error(`it has only ${table.length} bytes`);
  if (table.readBigUInt64LE(table.length - 8) !== magic) throw new Error('it is truncated');
  const footer = new VarintReader(table, table.length - footerBytes);
  const metaIndex = readBlock(table, footer.handle());
  const index = readBlock(table, footer.handle());
  return { data: handlesIn(index), others: handlesIn(metaIndex) };
}

/** Checks every block of a table. @throws Error that names the damage */
export function checkTable(table: Buffer): void {
  const { data, others } = layoutOf(table);
  for (const handle of [...others, ...data]) readBlock(table, handle);
}

/**
 * Returns the content of each data block of a table; undefined for a damaged block.
 * @throws Error if the index of the table is damaged
 */
export function dataBlocks(table: Buffer): readonly (Buffer | undefined)[] {
  return layoutOf(table).data.map((handle) => {
    try {
      return readBlock(table, handle);
    } catch {
      return undefined;
    }
  });
}

async function namesIn(folder: string): Promise<string[]> {
  try {
    return await readdir(folder);
  } catch (error) {
    // An interrupted first start has no database yet.
    if (systemErrorCode(error) === 'ENOENT') return [];
    throw error;
  }
}

/**
 * Checks every block of every table that the database uses against its checksum. LevelDB does not, and aborts the
 * process on some damaged blocks. Tables that the manifest does not name are skipped: they are remains of a killed
 * process, which LevelDB removes.
 * @throws DamageError that names the first damaged table and the position; the system's error for an unreadable
 * table.
 */
export async function checkTables(folder: string): Promise<void> {
  const live = await liveTables(folder);
  const names = (await namesIn(folder)).sort();
  for (const name of names) {
    const number = /^(\d+)\.(?:ldb|sst)$/.exec(name)?.[1];
    if (number === undefined || !live.has(Number(number))) continue;
    const table = await readFile(join(folder, name));
    try {
      checkTable(table);
    } catch (error) {
      throw new DamageError(`${name}: ${error instanceof Error ? error.message : String(error)}`, {
        cause: error,
      });
    }
  }
}
