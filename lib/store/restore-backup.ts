import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { open, rename, rm } from 'node:fs/promises';
import { dirname } from 'node:path';
import {
  failedPrecondition,
  invalid,
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
import {
  type Checkpoint,
  countRecord,
  emptyCheckpoint,
  type Engine,
  type EngineRecord,
  type ReplaceableEngine,
} from './engine.js';
import { clusterOf } from './meta-record.js';
import {
  type DecodedRecord,
  decodeRecord,
  type EncodedRecord,
  encodeRecord,
} from './record-codec.js';
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
 * The file is made with mode 0600; an existing one is replaced. It grows beside `path` under a name of
 * its own, `<path>.<uuid>.partial`: of two backups to one path the later one to end stays, whole. A
 * killed process leaves such a file.
 */
export async function backupToFile(
  store: Pick<EmbeddedStore, 'backup'>,
  path: string,
): Promise<BackupReport> {
  const partial = `${path}.${systemRandom.uuid()}.partial`;
  const file = await open(partial, 'wx', 0o600);
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

/** How a backup is restored. */
export interface RestoreOptions {
  /**
   * Takes the place of a store that is there, which is kept aside. Default false: such a store is
   * refused.
   */
  readonly replace?: boolean;
  /**
   * A revision that the restored store must lie beyond: the last one of a store that it takes the place
   * of and that was somewhere else. A store replaced in its own place needs none.
   */
  readonly afterRevision?: number;
  readonly random?: Random;
}

/** A restored store. */
export interface RestoreReport {
  readonly storeId: string;
  /** That of the backup. */
  readonly clusterId: string;
  /** Its revision, at which all its objects were written. */
  readonly revision: number;
  readonly objects: number;
  /** Directory of what was replaced; remove it when it is no longer needed. */
  readonly kept?: string;
}

/** A restored store is this far from every revision of the lives before: no cursor or version reaches. */
const restoreStride = 2 ** 32;
/** Record keys hold 48 bits, and a restored store must have as much before it as lies behind it. */
const restoreRevisionMax = 2 ** 48 - 1 - restoreStride;

function restoredRevision(path: string, header: BackupHeader, last: number): number {
  const revision = Math.max(header.revision, last) + restoreStride;
  if (revision <= restoreRevisionMax) return revision;
  throw failedPrecondition(
    'RevisionsExhausted',
    `backup ${path} of revision ${header.revision} can't be restored beyond revision ${last}: revision ${revision} would be more than ${restoreRevisionMax}; create the objects anew in an empty store`,
  );
}

/** The record's object as the restored store holds it: the same, with a version of the new life. */
function restoredRecord(
  record: DecodedRecord,
  address: { readonly revision: number; readonly index: number; readonly count: number },
): EncodedRecord {
  const object = JSON.parse(record.json) as { metadata: { resourceVersion: string } };
  object.metadata.resourceVersion = String(address.revision);
  const { kind, key, at, expiresAt } = record;
  const json = JSON.stringify(object);
  return encodeRecord({ ...address, type: 'ADDED', kind, key, json, at, expiresAt });
}

/**
 * Restores a backup, all or nothing: killed at any moment it leaves what was there before, or the whole
 * restored store. The backup is read twice, so that a damaged one changes nothing.
 *
 * The restored store begins a new life in the cluster of the backup. It has a new store id, and its revision lies 2^32 beyond those
 * of the backup and of the store it replaces. All its objects are written at that revision, and
 * everything before counts as compacted: a cursor or a resourceVersion of an earlier life matches
 * nothing.
 * @throws StatusError DataLoss (BackupDamaged), FailedPrecondition (NotEmpty, RevisionUnknown,
 * RevisionsExhausted, DirectoryLocked)
 */
export async function restoreBackup(
  path: string,
  engine: ReplaceableEngine,
  options: RestoreOptions = {},
): Promise<RestoreReport> {
  const { random = systemRandom, afterRevision = 0 } = options;
  if (!Number.isSafeInteger(afterRevision) || afterRevision < 0)
    throw invalid([
      { field: 'afterRevision', description: `${afterRevision} is not a revision: 0 or more` },
    ]);
  const { header, trailer } = await readBackup(path, (record) => {
    decodeRecord(record);
    return Promise.resolve();
  });
  const clusterId = clusterOf(header);
  let storeId = '';
  let revision = 0;
  const { kept } = await engine.replace(
    options.replace ? 'keep' : 'refuse',
    async (fresh, last) => {
      if (last === undefined && options.afterRevision === undefined)
        throw failedPrecondition(
          'RevisionUnknown',
          'the store that is replaced does not tell how far it was written; give a revision that it did not reach as afterRevision',
        );
      revision = restoredRevision(path, header, Math.max(last ?? 0, afterRevision));
      ({ storeId } = await fresh.open(() => random.uuid(), clusterId));
      try {
        await fillWith(path, fresh, { revision, count: trailer.objects });
      } finally {
        await fresh.close();
      }
    },
  );
  const report = { storeId, clusterId, revision, objects: trailer.objects };
  return kept === undefined ? report : { ...report, kept };
}

async function fillWith(
  path: string,
  engine: Engine,
  address: { readonly revision: number; readonly count: number },
): Promise<void> {
  let mark: Checkpoint = { ...emptyCheckpoint, revision: address.revision };
  let records: EncodedRecord[] = [];
  let index = 0;
  await readBackup(path, async (raw) => {
    const record = restoredRecord(decodeRecord(raw), { ...address, index });
    index += 1;
    mark = countRecord(mark, record.checksum, 1);
    records.push(record);
    if (records.length < recordsAtOnce) return;
    await engine.append(records);
    records = [];
  });
  if (records.length > 0) await engine.append(records);
  await engine.saveCheckpoint(mark);
  await engine.confirm?.(address.revision);
}
