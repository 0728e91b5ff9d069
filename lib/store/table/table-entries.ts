import { dataBlocks } from './table-check.js';
import { VarintReader } from './varint-reader.js';

/** An entry of a table: a key with its value or its deletion. */
export type TableEntry =
  | { readonly type: 'value'; readonly key: Buffer; readonly value: Buffer }
  | { readonly type: 'deleted'; readonly key: Buffer };

/** The readable part of a table. */
export interface ReadTable {
  readonly entries: readonly TableEntry[];
  readonly blocks: number;
  readonly damagedBlocks: number;
}

/** LevelDB's suffix of a key: its sequence number and type. */
const suffixBytes = 8;
const valueType = 1;

/** The entries of a data block; each key is prefix-compressed against the previous one. */
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

/**
 * Reads a table block by block and skips damaged ones.
 * @throws Error if its index is damaged.
 */
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
