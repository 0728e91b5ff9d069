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
import { demandBackupTarget } from './backup-target.js';
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
 * Writes a backup of a running store to a file: complete and synced, or not there at all.
 * The file is made with mode 0600; an existing backup is replaced, and anything else is refused. It
 * grows beside `path` under a name of its own, `<path>.<uuid>.partial`: of two backups to one path the
 * later one to end stays, whole. A killed process leaves such a file.
 * @throws StatusError FailedPrecondition (NotABackup) when `path` is something else, Unavailable
 * (BackupUnwritable); what the store's backup throws
 */
export async function backupToFile(
  store: Pick<EmbeddedStore, 'backup'>,
  path: string,
): Promise<BackupReport> {
  await demandBackupTarget(path);
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

function wayOut(path: string, code: string): string {
  const folder = dirname(path);
  switch (code) {
    case 'ENOENT':
      return `make the directory ${folder}, or name a file in one that exists`;
    case 'ENOTDIR':
      return `${folder} is no directory; name a file in one`;
    case 'EROFS':
      return `${folder} is mounted read-only; name a file on another disk`;
    case 'EACCES':
    case 'EPERM':
      return `name a file in a directory that you may write to`;
    default:
      return 'make room there, or name a file that can be written';
  }
}

/** A system's error of a write names neither the file nor a way out. */
function unwritable(path: string, error: unknown): unknown {
  const code = systemErrorCode(error);
  if (error instanceof StatusError || code === undefined) return error;
  return new StatusError({
    code: 'Unavailable',
    reason: 'BackupUnwritable',
    message: `backup ${path} can't be written (${messageOf(error)}), and there is no part of it; ${wayOut(path, code)}`,
    cause: error,
  });
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
  /**
   * `same` (the default): the restored store goes on with the cluster of the backup, which no other store
   * may do any more. `new`: it begins a cluster of its own.
   */
  readonly cluster?: 'same' | 'new';
  /**
   * What the restored store holds for an object of the backup; default: the object. Called twice for each, the
   * first time before anything is changed: what it throws then refuses the restore. It must give as many
   * objects both times, and no two with one key.
   */
  readonly rewrite?: (content: BackedUpObject) => readonly BackedUpObject[];
  readonly random?: Random;
}

/** A restored store. */
export interface RestoreReport {
  readonly storeId: string;
  /** That of the backup, or a new one: see {@link RestoreOptions.cluster}. */
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

type Rewrite = (record: DecodedRecord) => readonly DecodedRecord[];

/** The records that stand for one of a backup. */
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
 * The restored store begins a new life. It has a new store id, and its revision lies 2^32 beyond those of
 * the backup and of the store it replaces. All its objects are written at that revision, and
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
          'the store that is replaced does not tell how far it was written; give a revision that it did not reach as afterRevision',
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
