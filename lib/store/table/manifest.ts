import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { systemErrorCode } from '../directory/file-system.js';
import { VarintReader } from './varint-reader.js';

/** The format is LevelDB's doc/log_format.md; the records are its version edits. */
const blockBytes = 32_768;
const headerBytes = 7;
const recordType = { full: 1, first: 2, middle: 3, last: 4 } as const;

/** The records of a log file, up to its end or the first truncated record. */
function* logRecords(log: Buffer): Iterable<Buffer> {
  let parts: Buffer[] = [];
  for (let at = 0; at + headerBytes <= log.length; ) {
    const leftInBlock = blockBytes - (at % blockBytes);
    if (leftInBlock < headerBytes) {
      at += leftInBlock;
      continue;
    }
    const length = log.readUInt16LE(at + 4);
    const type = log[at + 6];
    const end = at + headerBytes + length;
    if (end > log.length || type === 0) return;
    const part = log.subarray(at + headerBytes, end);
    at = end;
    if (type === recordType.full || type === recordType.first) parts = [part];
    else parts.push(part);
    if (type === recordType.full || type === recordType.last) yield Buffer.concat(parts);
  }
}

/**
 * Applies one version edit to the tables in use.
 * @throws Error for an invalid edit.
 */
function applyEdit(edit: Buffer, live: Set<number>): void {
  const reader = new VarintReader(edit);
  while (!reader.ended) {
    const tag = reader.varint();
    switch (tag) {
      case 1: // comparator
        reader.skipString();
        break;
      case 2: // log number
      case 3: // next file number
      case 4: // last sequence
      case 9: // previous log number
        reader.varint();
        break;
      case 5: // compaction pointer: level, key
        reader.varint();
        reader.skipString();
        break;
      case 6: // deleted table: level, number
        reader.varint();
        live.delete(reader.varint());
        break;
      case 7: // new table: level, number, size, smallest and largest key
        reader.varint();
        live.add(reader.varint());
        reader.varint();
        reader.skipString();
        reader.skipString();
        break;
      default:
        throw new Error(`unknown tag ${tag}`);
    }
  }
}

/**
 * Numbers of the tables in a database's manifest. A missing or invalid manifest yields none: LevelDB reports it when
 * it opens.
 * @throws the system's error if the manifest can't be read
 */
export async function liveTables(folder: string): Promise<ReadonlySet<number>> {
  const live = new Set<number>();
  try {
    const current = (await readFile(join(folder, 'CURRENT'), 'utf8')).trim();
    if (!/^MANIFEST-\d+$/.test(current)) return live;
    for (const edit of logRecords(await readFile(join(folder, current)))) applyEdit(edit, live);
    return live;
  } catch (error) {
    const code = systemErrorCode(error);
    if (code !== undefined && code !== 'ENOENT') throw error;
    return new Set();
  }
}
