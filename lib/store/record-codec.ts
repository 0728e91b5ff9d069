import { crc32 } from 'node:zlib';
import { StatusError } from '../base/index.js';
import type { ApiObject } from '../object/index.js';
import type { LogRecord, NewRecord, RecordAddress } from './engine.js';

/**
 * Layout of a record.
 *
 * Key, 13 bytes: 0x72 ('r') | revision u64 big-endian | index u32 big-endian; so bytes sort as
 * revisions do. Value: CRC-32 u32 big-endian over key and body | body, UTF-8 JSON. The key is in
 * the checksum so that a record can't answer for another revision.
 */
const keyBytes = 13;
const prefix = 0x72;

/** The bytes a record is stored under. */
export function encodeKey(address: RecordAddress): Buffer {
  const key = Buffer.allocUnsafe(keyBytes);
  key[0] = prefix;
  key.writeBigUInt64BE(BigInt(address.revision), 1);
  key.writeUInt32BE(address.index, 9);
  return key;
}

interface Body {
  readonly type: LogRecord['type'];
  readonly kind: string;
  readonly count: number;
  readonly at: number;
  readonly object: ApiObject;
}

/** The bytes a record is stored as. */
export function encodeValue(key: Buffer, record: NewRecord): Buffer {
  const { type, kind, count, at } = record;
  const head: Omit<Body, 'object'> = { type, kind, count, at };
  // The object's JSON goes in as it is: it was made once, and is most of the record.
  const text = `${JSON.stringify(head).slice(0, -1)},"object":${record.encodedObject}}`;
  const value = Buffer.allocUnsafe(4 + Buffer.byteLength(text));
  value.write(text, 4);
  value.writeUInt32BE(crc32(value.subarray(4), crc32(key)), 0);
  return value;
}

function damaged(revision: number, detail: string, cause?: unknown): StatusError {
  return new StatusError({
    code: 'DataLoss',
    reason: 'Damaged',
    message: `the store's record of revision ${revision} is damaged (${detail}); restore the data directory from a backup`,
    cause,
  });
}

/** Reads a record back. @throws StatusError DataLoss when a byte differs from what was written. */
export function decodeRecord(key: Buffer, value: Buffer): LogRecord {
  const revision = key.length === keyBytes ? Number(key.readBigUInt64BE(1)) : -1;
  if (revision < 0 || value.length < 4) throw damaged(revision, 'wrong length');
  const body = value.subarray(4);
  if (crc32(body, crc32(key)) !== value.readUInt32BE(0)) throw damaged(revision, 'wrong checksum');
  const parsed = JSON.parse(body.toString()) as Body;
  return { revision, index: key.readUInt32BE(9), ...parsed };
}
