import { createHash } from 'node:crypto';
import { type Clock, timestamp } from '../../base/index.js';
import type { LazyObject } from '../record/lazy-object.js';
import { encodeRecord } from '../record/record-codec.js';
import type { BackupReport } from '../contract/object-store.js';

/*
 * A backup is a sequence of frames: u32 length of what follows | u8 type | body.
 *   'H' header: JSON, see BackupHeader. First.
 *   'R' record: u48 revision | u32 index | record bytes with their own checksum.
 *   'T' trailer: JSON, see BackupTrailer; its hash covers every byte before it. Last.
 * Numbers are big-endian.
 */
export const backupFormat = 'kedge-backup-1';

/** Types of frames. */
export const frameTypes = { header: 0x48, record: 0x52, trailer: 0x54 } as const;

/** Bytes of a record frame before the record. */
export const recordPrefixBytes = 10;

/** The header of a backup. */
export interface BackupHeader {
  readonly format: string;
  readonly storeId: string;
  /** Id of the cluster; absent in backups of earlier releases. */
  readonly clusterId?: string;
  readonly revision: number;
  readonly createdAt: string;
}

/** The trailer of a backup. */
export interface BackupTrailer {
  readonly objects: number;
  /** SHA-256 of all bytes before this record, hexadecimal. */
  readonly sha256: string;
}

/** The source of a backup's content. */
export interface BackupSource {
  readonly storeId: string;
  readonly clusterId: string;
  readonly revision: number;
  readonly kinds: ReadonlyMap<string, readonly (readonly LazyObject[])[]>;
  readonly clock: Clock;
}

/** Bytes per call of `sink`. */
const pieceBytes = 256 * 1024;

function frame(type: number, ...parts: readonly Buffer[]): Buffer {
  const head = Buffer.alloc(5);
  head.writeUInt32BE(1 + parts.reduce((sum, part) => sum + part.length, 0));
  head[4] = type;
  return Buffer.concat([head, ...parts]);
}

/** Encodes the current record of an object as in a log without history. */
function recordFrame(kind: string, entry: LazyObject, at: number): Buffer {
  const { revision, index, key, json } = entry;
  // Parsing every object for a rare field would double the time of a backup.
  const { expiresAt } = json.includes('"expiresAt"') ? entry.object.metadata : {};
  const record = encodeRecord({
    revision,
    index,
    count: index + 1,
    type: 'ADDED',
    kind,
    key,
    json,
    at,
    expiresAt: expiresAt === undefined ? 0 : Date.parse(expiresAt),
  });
  const address = Buffer.alloc(recordPrefixBytes);
  address.writeUIntBE(revision, 0, 6);
  address.writeUInt32BE(index, 6);
  return frame(frameTypes.record, address, record.bytes);
}

/**
 * Writes a backup to `sink` piece by piece, and returns its counts. Other work runs between two pieces. Rejects if
 * `sink` rejects.
 */
export async function writeBackup(
  source: BackupSource,
  sink: (bytes: Buffer) => Promise<void>,
): Promise<BackupReport> {
  const { storeId, clusterId, revision, kinds, clock } = source;
  const hash = createHash('sha256');
  let bytes = 0;
  let objects = 0;
  let pieces: Buffer[] = [];
  let gathered = 0;
  const flush = async (): Promise<void> => {
    const piece = Buffer.concat(pieces);
    pieces = [];
    gathered = 0;
    bytes += piece.length;
    hash.update(piece);
    await sink(piece);
    await new Promise<void>((resolve) => clock.defer(resolve));
  };
  const createdAt = timestamp(clock);
  const header: BackupHeader = { format: backupFormat, storeId, clusterId, revision, createdAt };
  pieces.push(frame(frameTypes.header, Buffer.from(JSON.stringify(header))));
  for (const [kind, chunks] of kinds) {
    for (const chunk of chunks) {
      for (const entry of chunk) {
        const part = recordFrame(kind, entry, clock.now());
        pieces.push(part);
        gathered += part.length;
        objects += 1;
        if (gathered >= pieceBytes) await flush();
      }
    }
  }
  await flush();
  const trailer: BackupTrailer = { objects, sha256: hash.copy().digest('hex') };
  pieces.push(frame(frameTypes.trailer, Buffer.from(JSON.stringify(trailer))));
  await flush();
  return { storeId, clusterId, revision, objects, bytes };
}
