import { crc32 } from 'node:zlib';
import { StatusError } from '../../base/index.js';
import type { EngineRecord, RecordAddress } from '../engine/engine.js';

/** The type of a change. */
export type ChangeType = 'ADDED' | 'MODIFIED' | 'DELETED';

/** The record that a record replaces. */
export interface Predecessor extends RecordAddress {
  readonly checksum: number;
}

/** One change in the log. */
export interface LogRecord extends RecordAddress {
  /** Number of records of the revision. */
  readonly count: number;
  readonly type: ChangeType;
  readonly kind: string;
  readonly key: string;
  /** The object as JSON; parsed on demand. */
  readonly json: string;
  /** Commit time, milliseconds since the epoch. */
  readonly at: number;
  /** Expiry time of the object, milliseconds since the epoch; 0 for never. */
  readonly expiresAt: number;
  /** The record that this one replaces; absent for the first record of an object. */
  readonly previous?: Predecessor | undefined;
}

/** A record as read back. */
export interface DecodedRecord extends LogRecord {
  /** CRC-32 as a signed 32-bit integer: what V8 keeps without a heap number. */
  readonly checksum: number;
  readonly size: number;
}

/** A record ready for an engine. */
export interface EncodedRecord extends EngineRecord {
  readonly checksum: number;
  /** Encoded bytes. */
  readonly size: number;
}

/*
 * Layout of a value, numbers big-endian:
 *   0 u32 CRC-32 over address and everything after this field, so that a record can't stand in for another
 *   4 u8  layout (2)        5 u8  type        6 u16 bytes of kind     8 u16 bytes of key
 *  10 u32 count            14 f64 at         22 f64 expiresAt
 *  30 f64 previous revision, 0 for none      38 u32 previous index   42 i32 previous checksum
 *  46 kind, key, JSON, all UTF-8
 * Kind and key stand outside the JSON so that restoring an index parses nothing.
 */
const layout = 2;
const headerBytes = 46;
const types: readonly ChangeType[] = ['ADDED', 'MODIFIED', 'DELETED'];

const addressBytes = 12;
const checksumBytes = 4;
const addressBuffer = Buffer.alloc(addressBytes);

/** The last kind name, cached: names repeat, and decoding one for each record takes time. */
let lastKindBytes: Buffer = Buffer.alloc(0);
let lastKind = '';

function kindOf(bytes: Buffer, end: number): string {
  const length = end - headerBytes;
  if (
    length !== lastKindBytes.length ||
    bytes.compare(lastKindBytes, 0, length, headerBytes, end) !== 0
  ) {
    lastKindBytes = Buffer.from(bytes.subarray(headerBytes, end));
    lastKind = lastKindBytes.toString();
  }
  return lastKind;
}

function writeAddress(target: Buffer, address: RecordAddress): void {
  target.writeUIntBE(address.revision, 0, 6);
  target.writeUInt32BE(address.index, 6);
  target.writeUInt16BE(0, 10);
}

function addressChecksum(address: RecordAddress): number {
  writeAddress(addressBuffer, address);
  return crc32(addressBuffer);
}

/** Encodes a record for an engine. */
export function encodeRecord(record: LogRecord): EncodedRecord {
  const { kind, key, previous } = record;
  const kindBytes = Buffer.byteLength(kind);
  const keyBytes = Buffer.byteLength(key);
  const size = headerBytes + kindBytes + keyBytes + Buffer.byteLength(record.json);
  // The address precedes the record until both are in the checksum, so that one call computes it; the checksum then
  // overwrites the last bytes of the address.
  const summed = Buffer.allocUnsafe(addressBytes - checksumBytes + size);
  writeAddress(summed, record);
  const bytes = summed.subarray(addressBytes - checksumBytes);
  bytes[4] = layout;
  bytes[5] = types.indexOf(record.type);
  bytes.writeUInt16BE(kindBytes, 6);
  bytes.writeUInt16BE(keyBytes, 8);
  bytes.writeUInt32BE(record.count, 10);
  bytes.writeDoubleBE(record.at, 14);
  bytes.writeDoubleBE(record.expiresAt, 22);
  bytes.writeDoubleBE(previous?.revision ?? 0, 30);
  bytes.writeUInt32BE(previous?.index ?? 0, 38);
  bytes.writeInt32BE(previous?.checksum ?? 0, 42);
  bytes.write(kind, headerBytes);
  bytes.write(key, headerBytes + kindBytes);
  bytes.write(record.json, headerBytes + kindBytes + keyBytes);
  const checksum = crc32(summed);
  bytes.writeUInt32BE(checksum, 0);
  return { revision: record.revision, index: record.index, bytes, size, checksum: checksum | 0 };
}

function damaged(address: RecordAddress, detail: string): StatusError {
  return new StatusError({
    code: 'DataLoss',
    reason: 'Damaged',
    message: `the store's record of revision ${address.revision} is damaged (${detail}); restore the data directory from a backup`,
  });
}

/** The head of a record without its texts: all that a compaction reads. */
export type RecordHead = Omit<DecodedRecord, 'kind' | 'key' | 'json' | 'expiresAt'>;

/**
 * Decodes a record's head.
 * @throws StatusError DataLoss if a byte of the record differs from the written one.
 */
export function decodeHead({ revision, index, bytes }: EngineRecord): RecordHead {
  const checksum = verified({ revision, index, bytes });
  const previous = previousOf(bytes);
  return {
    revision,
    index,
    count: bytes.readUInt32BE(10),
    type: types[bytes[5] ?? 0] ?? 'ADDED',
    at: bytes.readDoubleBE(14),
    ...(previous ? { previous } : {}),
    checksum,
    size: bytes.length,
  };
}

/**
 * Decodes a record.
 * @throws StatusError DataLoss if a byte differs from the written one.
 */
export function decodeRecord({ revision, index, bytes }: EngineRecord): DecodedRecord {
  const checksum = verified({ revision, index, bytes });
  const keyStart = headerBytes + bytes.readUInt16BE(6);
  const jsonStart = keyStart + bytes.readUInt16BE(8);
  return {
    revision,
    index,
    count: bytes.readUInt32BE(10),
    type: types[bytes[5] ?? 0] ?? 'ADDED',
    kind: kindOf(bytes, keyStart),
    key: bytes.toString('utf8', keyStart, jsonStart),
    json: bytes.toString('utf8', jsonStart),
    at: bytes.readDoubleBE(14),
    expiresAt: bytes.readDoubleBE(22),
    previous: previousOf(bytes),
    checksum,
    size: bytes.length,
  };
}

/** Verifies a record, and returns its checksum. @throws StatusError DataLoss */
function verified({ revision, index, bytes }: EngineRecord): number {
  const address = { revision, index };
  if (bytes.length < headerBytes) throw damaged(address, 'wrong length');
  const checksum = crc32(bytes.subarray(4), addressChecksum(address));
  if (checksum !== bytes.readUInt32BE(0)) throw damaged(address, 'wrong checksum');
  if (bytes[4] !== layout) throw damaged(address, `unknown layout ${bytes[4]}`);
  return checksum | 0;
}

function previousOf(bytes: Buffer): Predecessor | undefined {
  const revision = bytes.readDoubleBE(30);
  if (revision === 0) return undefined;
  return { revision, index: bytes.readUInt32BE(38), checksum: bytes.readInt32BE(42) };
}
