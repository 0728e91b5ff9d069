import type { RecordAddress } from '../engine/engine.js';

/** Key of the meta record; it sorts before all records. */
export const metaKey = Buffer.from('m/state');
/** Bytes of a record's key. */
export const keyBytes = 13;
/** First byte of every record key, 'r': records sort behind the meta key, by revision and index. */
const recordPrefix = 0x72;
/** The key after all records. */
export const logEnd = Buffer.from([recordPrefix + 1]);

/** Key of a record: prefix | revision u64 big-endian | index u32 big-endian. */
export function encodeKey({ revision, index }: RecordAddress): Buffer {
  const key = Buffer.allocUnsafe(keyBytes);
  key[0] = recordPrefix;
  key.writeUInt16BE(0, 1);
  key.writeUIntBE(revision, 3, 6);
  key.writeUInt32BE(index, 9);
  return key;
}

/** The address in a record's key; undefined for a key of another length. */
export function decodeKey(key: Buffer): RecordAddress | undefined {
  if (key.length !== keyBytes) return undefined;
  return { revision: key.readUIntBE(3, 6), index: key.readUInt32BE(9) };
}
