import { dataBlocks } from './table-check.js';
import { VarintReader } from './varint-reader.js';

/** A table's last word about a key: its value, or that it was deleted. */
export type TableEntry =
  | { readonly type: 'value'; readonly key: Buffer; readonly value: Buffer }
  | { readonly type: 'deleted'; readonly key: Buffer };

/** What can be read of a table. */
export interface ReadTable {
  readonly entries: readonly TableEntry[];
  readonly blocks: number;
  readonly damagedBlocks: number;
}

/** LevelDB's own bytes behind a key: its sequence number and the type. */
const suffixBytes = 8;
const valueType = 1;

/** The entries of a data block: each has what its key shares with the one before. */
function* entriesIn(block: Buffer): Iterable<TableEntry> {
  const restarts = block.readUInt32LE(block.length - 4);
  const end = block.length - 4 * (restarts + 1);
  const reader = new VarintReader(block);
  let internal: Buffer = Buffer.alloc(0);
  while (reader.position < end) {
    const shared = reader.varint();
    const rest = reader.varint();
    const valueBytes = reader.varint();
    const from = reader.position;
    internal = Buffer.concat([internal.subarray(0, shared), block.subarray(from, from + rest)]);
    reader.position = from + rest + valueBytes;
    const key = internal.subarray(0, internal.length - suffixBytes);
    if (internal[internal.length - suffixBytes] === valueType)
      yield { type: 'value', key, value: block.subarray(from + rest, reader.position) };
    else yield { type: 'deleted', key };
  }
}

/** Reads a table block by block, past damaged ones. @throws Error when its index is damaged. */
export function readTable(table: Buffer): ReadTable {
  const blocks = dataBlocks(table);
  const entries: TableEntry[] = [];
  let damagedBlocks = 0;
  for (const block of blocks) {
    if (block) for (const entry of entriesIn(block)) entries.push(entry);
    else damagedBlocks += 1;
  }
  return { entries, blocks: blocks.length, damagedBlocks };
}
