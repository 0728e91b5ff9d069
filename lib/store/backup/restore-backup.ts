import { open, rename, rm } from 'node:fs/promises';
import { dirname } from 'node:path';
import {
  failedPrecondition,
  invalid,
  messageOf,
  type Random,
  StatusError,
  systemRandom,
} from '../../base/index.js';
import { keyOf, keyString } from '../../object/index.js';
import type { BackupHeader } from './backup.js';
import { requireBackupTarget } from './backup-target.js';
import {
  type Checkpoint,
  countRecord,
  emptyCheckpoint,
  type Engine,
  type ReplaceableEngine,
} from '../engine/engine.js';
import { systemErrorCode } from '../directory/file-system.js';
import { clusterOf } from '../level/meta-record.js';
import { type BackedUpObject, objectIn, readBackup } from './read-backup.js';
import { type DecodedRecord, type EncodedRecord, encodeRecord } from '../record/record-codec.js';
import type { BackupReport, EmbeddedStore } from '../contract/object-store.js';

const recordsAtOnce = 200;

/**
 * Writes a backup of a running store to a file, atomically and durably. The file has mode 0600. It replaces an existing
 * backup or an empty file; anything else is refused. The backup is first written to `<path>.<uuid>.partial`, which a
 * killed process leaves behind. If two backups to one path run concurrently, the one that ends last wins.
 * @throws StatusError FailedPrecondition (NotABackup) if `path` is another file, a directory or a symbolic link;
 * Unavailable (BackupUnwritable) if the file can't be written; errors of the store's backup
 */
export async function backupToFile(
  store: Pick<EmbeddedStore, 'backup'>,
  path: string,
): Promise<BackupReport> {
  await requireBackupTarget(path).catch((error: unknown) => {
    throw unwritable(path, error);
  });
  const partial = `${path}.${systemRandom.uuid()}.partial`;
  const file = await open(partial, 'wx', 0o600).catch((error: unknown) => {
    throw unwritable(path, error);
  });
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
    await file.close().finally(() => rm(partial, { force: true }));
    throw unwritable(path, error);
  }
}

function remedyOf(path: string, code: string): string {
  const folder = dirname(path);
  switch (code) {
    case 'ENOENT':
      return `create the directory ${folder}, or use a file in an existing one`;
    case 'ENOTDIR':
      return `${folder} is not a directory; use a file in a directory`;
    case 'EROFS':
      return `${folder} is mounted read-only; use a file on another disk`;
    case 'EACCES':
    case 'EPERM':
      return `use a file in a writable directory`;
    default:
      return 'free disk space there, or use a writable file';
  }
}

/**
 * Returns the error of a write for the caller: a system error becomes Unavailable (BackupUnwritable) with a remedy, and
 * any other error is returned unchanged.
 */
function unwritable(path: string, error: unknown): unknown {
  const code = systemErrorCode(error);
  if (error instanceof StatusError || code === undefined) return error;
  return new StatusError({
    code: 'Unavailable',
    reason: 'BackupUnwritable',
    message: `backup ${path} can't be written (${messageOf(error)}); ${remedyOf(path, code)}`,
    cause: error,
  });
}

/** Options of a restore. */
export interface RestoreOptions {
  /**
   * Replaces an existing store, which is kept in another directory. Default false: an existing store is refused.
   */
  readonly replace?: boolean;
  /**
   * A lower bound of the restored store's revision: the last revision of a replaced store in another directory. A store
   * that is replaced in place needs it only if its last revision is unknown (RevisionUnknown).
   */
  readonly afterRevision?: number;
  /**
   * `same` (the default): the restored store keeps the cluster id of the backup, which no other store may use any
   * more. `new`: it gets a new cluster id.
   */
  readonly cluster?: 'same' | 'new';
  /**
   * Maps an object of the backup to the objects of the restored store; default: the object itself. Called twice for
   * each object, first before anything is changed: an error then refuses the restore. Both calls must return the
   * same number of objects, with distinct keys.
   */
  readonly rewrite?: (content: BackedUpObject) => readonly BackedUpObject[];
  /** Source of ids; default: the system's. */
  readonly random?: Random;
}

/** A restored store. */
export interface RestoreReport {
  readonly storeId: string;
  /** The cluster id of the backup, or a new one: see {@link RestoreOptions.cluster}. */
  readonly clusterId: string;
  /** The revision of the store, at which all its objects were written. */
  readonly revision: number;
  readonly objects: number;
  /** Directory of the replaced store; remove it when it is no longer needed. */
  readonly kept?: string;
}

/** Distance of a restored store from the highest known revision, so that earlier cursors and versions are invalid. */
const restoreStride = 2 ** 32;
/** Record keys have 48 bits: at least 2^32 revisions are left for the restored store. */
const restoreRevisionMax = 2 ** 48 - 1 - restoreStride;

function restoredRevision(path: string, header: BackupHeader, last: number): number {
  const revision = Math.max(header.revision, last) + restoreStride;
  if (revision <= restoreRevisionMax) return revision;
  throw failedPrecondition(
    'RevisionsExhausted',
    `backup ${path} of revision ${header.revision} can't be restored beyond revision ${last}: revision ${revision} would be more than ${restoreRevisionMax}; create the objects again in an empty store`,
  );
}

type Rewrite = (record: DecodedRecord) => readonly DecodedRecord[];

/** Returns the records of the restored store for one record of a backup. */
function rewriting(rewrite: RestoreOptions['rewrite']): Rewrite {
  if (!rewrite) return (record) => [record];
  return (record) =>
    rewrite(objectIn(record)).map(({ kind, object }) => {
      const { expiresAt } = object.metadata;
      return {
        ...record,
        kind,
        key: keyString(keyOf(object)),
        json: JSON.stringify(object),
        expiresAt: expiresAt === undefined ? 0 : Date.parse(expiresAt),
      };
    });
}

/** The record of the object in the restored store. Its resourceVersion is the revision of its new address. */
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
 * Restores a backup, all or nothing: after a crash at any moment the directory has the previous or the complete
 * restored store. The backup is read twice, so that a damaged one changes nothing.
 *
 * The restored store has a new store id, and its revision is 2^32 above the highest of the backup, the replaced store
 * and `afterRevision`. All its objects have that revision, and everything before counts as compacted: earlier cursors
 * and resourceVersions are invalid.
 * @throws StatusError DataLoss (BackupDamaged), FailedPrecondition (BackupFormat, BackupUnreadable, NotEmpty,
 * RevisionUnknown, RevisionsExhausted, DirectoryLocked), InvalidArgument for an invalid `afterRevision`; errors of
 * `rewrite`
 */
export async function restoreBackup(
  path: string,
  engine: ReplaceableEngine,
  options: RestoreOptions = {},
): Promise<RestoreReport> {
  const { random = systemRandom, afterRevision = 0 } = options;
  if (!Number.isSafeInteger(afterRevision) || afterRevision < 0)
    throw invalid([
      {
        field: 'afterRevision',
        description: `${afterRevision} is not a revision; use a whole number, 0 or more`,
      },
    ]);
  const rewrite = rewriting(options.rewrite);
  let objects = 0;
  const { header } = await readBackup(path, (record) => {
    objects += rewrite(record).length;
    return Promise.resolve();
  });
  const clusterId = options.cluster === 'new' ? random.uuid() : clusterOf(header);
  let storeId = '';
  let revision = 0;
  const { kept } = await engine.replace(
    options.replace ? 'keep' : 'refuse',
    async (fresh, last) => {
      if (last === undefined && options.afterRevision === undefined)
        throw failedPrecondition(
          'RevisionUnknown',
          'the last revision of the replaced store is unknown; set afterRevision to a revision that it did not reach',
        );
      revision = restoredRevision(path, header, Math.max(last ?? 0, afterRevision));
      ({ storeId } = await fresh.open(() => random.uuid(), clusterId));
      try {
        await fillWith(path, fresh, rewrite, { revision, count: objects });
      } finally {
        await fresh.close();
      }
    },
  );
  const report = { storeId, clusterId, revision, objects };
  return kept === undefined ? report : { ...report, kept };
}

async function fillWith(
  path: string,
  engine: Engine,
  rewrite: Rewrite,
  address: { readonly revision: number; readonly count: number },
): Promise<void> {
  let mark: Checkpoint = { ...emptyCheckpoint, revision: address.revision };
  let records: EncodedRecord[] = [];
  let index = 0;
  await readBackup(path, async (found) => {
    for (const each of rewrite(found)) {
      const record = restoredRecord(each, { ...address, index });
      index += 1;
      mark = countRecord(mark, record.checksum, 1);
      records.push(record);
    }
    if (records.length < recordsAtOnce) return;
    await engine.append(records);
    records = [];
  });
  if (records.length > 0) await engine.append(records);
  await engine.saveCheckpoint(mark);
  await engine.confirm?.(address.revision);
}
