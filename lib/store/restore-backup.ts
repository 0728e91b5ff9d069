import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { open, rename, rm } from 'node:fs/promises';
import { dirname } from 'node:path';
import {
  failedPrecondition,
  limits,
  messageOf,
  type Random,
  StatusError,
  systemRandom,
} from '../base/index.js';
import {
  backupFormat,
  type BackupHeader,
  type BackupTrailer,
  frameTypes,
  recordPrefixBytes,
} from './backup.js';
import { type Checkpoint, countRecord, type Engine, type EngineRecord } from './engine.js';
import { decodeRecord } from './record-codec.js';
import type { BackupReport, EmbeddedStore } from './store.js';

/** Larger than any record with its frame. */
const frameBytesMax = limits.objectBytesMax + 64;
const recordsAtOnce = 200;

function damaged(path: string, detail: string): StatusError {
  return new StatusError({
    code: 'DataLoss',
    reason: 'BackupDamaged',
    message: `backup ${path} is damaged: ${detail}; use another one`,
  });
}

/**
 * Writes a backup of a running store to a file: complete and synced, or not there at all.
 * The file is made with mode 0600; an existing one is replaced.
 */
export async function backupToFile(
  store: Pick<EmbeddedStore, 'backup'>,
  path: string,
): Promise<BackupReport> {
  const partial = `${path}.partial`;
  const file = await open(partial, 'w', 0o600);
  try {
    const report = await store.backup(async (bytes) => {
      await file.appendFile(bytes);
    });
    await file.sync();
    await file.close();
    await rename(partial, path);
    const folder = await open(dirname(path), 'r');
    await folder.sync().finally(() => folder.close());
    return report;
  } catch (error) {
    await file.close();
    await rm(partial, { force: true });
    throw error;
  }
}

/** The frames of a backup, each with a running hash of everything before it. */
async function* frames(
  path: string,
): AsyncIterable<{ readonly type: number; readonly body: Buffer; readonly sha256: string }> {
  const hash = createHash('sha256');
  let rest: Buffer = Buffer.alloc(0);
  for await (const piece of createReadStream(path, { highWaterMark: 1024 * 1024 })) {
    rest = rest.length === 0 ? (piece as Buffer) : Buffer.concat([rest, piece as Buffer]);
    let at = 0;
    while (rest.length - at >= 5) {
      const length = rest.readUInt32BE(at);
      if (length < 1 || length > frameBytesMax) throw damaged(path, `a frame of ${length} bytes`);
      if (rest.length - at < 4 + length) break;
      const body = rest.subarray(at + 5, at + 4 + length);
      const type = rest[at + 4] ?? 0;
      yield { type, body, sha256: type === frameTypes.trailer ? hash.copy().digest('hex') : '' };
      hash.update(rest.subarray(at, at + 4 + length));
      at += 4 + length;
    }
    rest = rest.subarray(at);
  }
  if (rest.length > 0) throw damaged(path, 'it ends inside a frame');
}

/** Reads a whole backup. @throws StatusError DataLoss when a byte of it is not what was written. */
async function readBackup(
  path: string,
  onRecord: (record: EngineRecord) => Promise<void>,
): Promise<{ readonly header: BackupHeader; readonly trailer: BackupTrailer }> {
  let header: BackupHeader | undefined;
  let trailer: BackupTrailer | undefined;
  let objects = 0;
  for await (const { type, body, sha256 } of frames(path)) {
    if (trailer) throw damaged(path, 'it goes on after its end');
    if (!header) {
      if (type !== frameTypes.header) throw damaged(path, 'it has no header');
      header = parse<BackupHeader>(path, body);
      if (header.format !== backupFormat)
        throw failedPrecondition(
          'BackupFormat',
          `backup ${path} has format ${header.format}, this release reads ${backupFormat}`,
        );
    } else if (type === frameTypes.trailer) {
      trailer = parse<BackupTrailer>(path, body);
      if (trailer.sha256 !== sha256) throw damaged(path, 'its hash differs');
    } else if (type === frameTypes.record && body.length > recordPrefixBytes) {
      const address = { revision: body.readUIntBE(0, 6), index: body.readUInt32BE(6) };
      await onRecord({ ...address, bytes: Buffer.from(body.subarray(recordPrefixBytes)) });
      objects += 1;
    } else {
      throw damaged(path, `a frame of type ${type}`);
    }
  }
  if (!header || !trailer) throw damaged(path, 'its end is missing');
  if (trailer.objects !== objects)
    throw damaged(path, `${objects} records instead of ${trailer.objects}`);
  return { header, trailer };
}

function parse<T>(path: string, body: Buffer): T {
  try {
    return JSON.parse(body.toString()) as T;
  } catch (error) {
    throw damaged(path, messageOf(error));
  }
}

/**
 * Restores a backup into an engine that holds nothing yet, under a new store id: revisions go on
 * after those of the backup, and cursors of the old store are refused. The backup is read twice, so
 * that a damaged one changes nothing.
 * @throws StatusError DataLoss (BackupDamaged), FailedPrecondition (NotEmpty)
 */
export async function restoreBackup(
  path: string,
  engine: Engine,
  random: Random = systemRandom,
): Promise<{ readonly storeId: string; readonly revision: number; readonly objects: number }> {
  const { header, trailer } = await readBackup(path, (record) => {
    decodeRecord(record);
    return Promise.resolve();
  });
  const { storeId } = await engine.open(() => random.uuid());
  try {
    for await (const chunk of engine.scan(0))
      if (chunk.length > 0)
        throw failedPrecondition(
          'NotEmpty',
          'a backup is restored into an empty directory only; choose another, or move the old one away',
        );
    let mark: Checkpoint = { revision: header.revision, objects: 0, hash: 0 };
    let records: EngineRecord[] = [];
    await readBackup(path, async (record) => {
      mark = countRecord(mark, decodeRecord(record).checksum, 1);
      records.push(record);
      if (records.length < recordsAtOnce) return;
      await engine.append(records);
      records = [];
    });
    if (records.length > 0) await engine.append(records);
    await engine.saveCheckpoint(mark);
  } finally {
    await engine.close();
  }
  return { storeId, revision: header.revision, objects: trailer.objects };
}
