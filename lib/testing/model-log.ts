import { crc32 } from 'node:zlib';

// LevelDB's log format with smaller blocks: a record is split into fragments, each with a checksum and a type.
const blockBytes = 2_048;
const headerBytes = 7;
const types = { full: 1, first: 2, middle: 3, last: 4 } as const;

function fragment(type: number, payload: Buffer): Buffer {
  const bytes = Buffer.alloc(headerBytes + payload.length);
  bytes.writeUInt16LE(payload.length, 4);
  bytes[6] = type;
  payload.copy(bytes, headerBytes);
  bytes.writeUInt32LE(crc32(bytes.subarray(6)), 0);
  return bytes;
}

/** Encodes records sequentially. It counts each as written, like LevelDB's writer. */
export class LogEncoder {
  #blockOffset = 0;

  /** The bytes of a record at the expected end of the file. */
  encode(record: Buffer): Buffer {
    const parts: Buffer[] = [];
    let at = 0;
    do {
      const left = blockBytes - this.#blockOffset;
      if (left < headerBytes) {
        parts.push(Buffer.alloc(left));
        this.#blockOffset = 0;
        continue;
      }
      const room = left - headerBytes;
      const payload = record.subarray(at, at + room);
      const begins = at === 0;
      at += payload.length;
      const ends = at === record.length;
      const type = begins ? (ends ? types.full : types.first) : ends ? types.last : types.middle;
      parts.push(fragment(type, payload));
      this.#blockOffset += headerBytes + payload.length;
      if (ends) break;
    } while (at <= record.length);
    return Buffer.concat(parts);
  }
}

/** The records that LevelDB would find. After an invalid fragment, the rest of its block is skipped silently. */
export function* readLog(log: Buffer): Iterable<Buffer> {
  let parts: Buffer[] = [];
  for (let block = 0; block < log.length; block += blockBytes) {
    const end = Math.min(block + blockBytes, log.length);
    for (let at = block; at + headerBytes <= end; ) {
      const length = log.readUInt16LE(at + 4);
      const type = log[at + 6] ?? 0;
      const next = at + headerBytes + length;
      const sound =
        type >= types.full &&
        type <= types.last &&
        next <= end &&
        crc32(log.subarray(at + 6, next)) === log.readUInt32LE(at);
      if (!sound) {
        parts = [];
        break;
      }
      const payload = log.subarray(at + headerBytes, next);
      at = next;
      if (type === types.full || type === types.first) parts = [payload];
      else if (parts.length > 0) parts.push(payload);
      if ((type === types.full || type === types.last) && parts.length > 0) {
        yield Buffer.concat(parts);
        parts = [];
      }
    }
  }
}
