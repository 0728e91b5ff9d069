import { join } from 'node:path';
import { messageOf, type Random, StatusError, systemRandom } from '../base/index.js';
import type { EmbeddedStore } from './contract/object-store.js';
import { lockDirectory } from './directory/directory-lock.js';
import { openingError } from './directory/database-error.js';
import { copyTree, type FileSystem, nodeFileSystem } from './directory/file-system.js';
import { databaseName, markName, salvageSource } from './directory/replacement.js';
import { openStore } from './open-store.js';
import { levelDriver } from './level/level-database.js';
import { LevelEngine } from './level/level-engine.js';
import { logEnd, metaKey } from './level/level-keys.js';
import { decodeMeta, schemaVersion } from './level/meta-record.js';
import {
  copiedNames,
  copyFolder,
  type CopyRoom,
  requireRoom,
  stepChanges,
} from './level/migration.js';

/** The changes of a data directory at the first start of this release. */
export interface UpgradeReport {
  /** Schema versions before and after; equal when nothing is migrated. */
  readonly from: number;
  readonly to: number;
  /** One line per migration step with its changes to the records. */
  readonly changes: readonly string[];
  /** Records of the log before the migration, and how many of them it removes. */
  readonly records: number;
  readonly removedRecords: number;
  readonly objects: number;
  readonly revision: number;
  /** The copy that is made before the migration; absent if nothing is migrated. */
  readonly copy?: CopyRoom & { readonly path: string; readonly names: readonly string[] };
}

/** Options of {@link rehearseUpgrade}. */
export interface RehearsalOptions {
  /** A directory outside the store's, with room for two copies of the database. */
  readonly scratch: string;
  /** See {@link LevelEngineOptions.copiedBeforeMigration}. */
  readonly copiedBeforeMigration?: readonly string[];
  readonly random?: Random;
  readonly fileSystem?: FileSystem;
}

interface Found {
  readonly version: number | undefined;
  readonly records: number;
}

const writeBufferBytes = 4 * 1024 * 1024;
const chunkRecords = 400;

/**
 * Checks a closed database, and returns its schema version and number of records.
 * @throws StatusError as the opening of a database
 */
async function inspect(database: string): Promise<Found> {
  const open = await levelDriver
    .check(database)
    .then(() => levelDriver.open(database, writeBufferBytes))
    .catch((error: unknown) => {
      throw openingError(database, error);
    });
  try {
    const stored = await open.get(metaKey);
    const iterator = open.iterator({ gte: metaKey, lt: logEnd });
    let records = 0;
    for (;;) {
      const entries = await iterator.nextv(chunkRecords);
      if (entries.length === 0) break;
      for (const [key] of entries) if (!key.equals(metaKey)) records += 1;
    }
    await iterator.close();
    return { version: stored && decodeMeta(stored)?.schemaVersion, records };
  } finally {
    await open.close();
  }
}

/** Reasons of errors of a disk that can't be written. */
const unwritable: ReadonlySet<string> = new Set([
  ...['NoRoomForCopy', 'CopyFailed', 'NoRoomToOpen', 'LockUnavailable', 'HighWaterUnwritable'],
  'DiskFull',
]);

function scratchUnwritable(what: string, cause: unknown): StatusError {
  return new StatusError({
    code: 'Unavailable',
    reason: 'ScratchUnwritable',
    message: `${what} (${messageOf(cause)}), and the copy was removed; free disk space there, or set TMPDIR to a directory on another disk`,
    cause,
  });
}

/** Converts an error about the copy to one about the store, unless the disk of the copy is its cause. */
function aboutStore(error: unknown, copy: string, directory: string): unknown {
  const ofDisk =
    (error instanceof StatusError && unwritable.has(error.reason)) ||
    /ENOSPC|EDQUOT|No space left|quota exceeded/i.test(messageOf(error));
  if (ofDisk && messageOf(error).includes(copy))
    return scratchUnwritable(`the upgrade of ${directory} can't be rehearsed in ${copy}`, error);
  const message = messageOf(error).replaceAll(copy, directory);
  if (!(error instanceof StatusError)) return new Error(message, { cause: error });
  const { code, reason } = error;
  return new StatusError({ code, reason, message, cause: error });
}

/**
 * Runs an upgrade on a copy of a store and reports its changes.
 *
 * Guarantees:
 * - The store is not changed. It must not be open in any process.
 * - It fails where the upgrade of the store would fail: on damage, an unknown schema version, or too little room for
 *   the copy in the data directory.
 *
 * Caveat: a process that is killed leaves its copy, `<scratch>/kedge-upgrade-<id>`.
 * @param work is called with the upgraded copy, for example to run the start of a program.
 * @throws StatusError FailedPrecondition (DirectoryLocked, SchemaVersion), ResourceExhausted (NoRoomForCopy),
 * Unavailable (LockUnavailable, ScratchUnwritable), DataLoss; errors of `work`
 * @example
 * const report = await rehearseUpgrade('./data', { scratch: tmpdir() });
 * console.log(report.from, report.to, report.removedRecords);
 */
export async function rehearseUpgrade(
  directory: string,
  options: RehearsalOptions,
  work: (store: EmbeddedStore) => Promise<void> = () => Promise.resolve(),
): Promise<UpgradeReport> {
  const { fileSystem: files = nodeFileSystem } = options;
  const id = (options.random ?? systemRandom).uuid();
  const rehearsal = join(options.scratch, `kedge-upgrade-${id}`);
  const lock = await lockDirectory(directory);
  try {
    await copyInto(files, directory, rehearsal);
    return await rehearseOn(rehearsal, directory, options, work);
  } finally {
    await files.remove(rehearsal).finally(() => lock.release());
  }
}

/** Upgrades a copy of a store. Its errors are about the store: they name `directory` instead of the copy. */
async function rehearseOn(
  copy: string,
  directory: string,
  { copiedBeforeMigration = [], fileSystem: files = nodeFileSystem }: RehearsalOptions,
  work: (store: EmbeddedStore) => Promise<void>,
): Promise<UpgradeReport> {
  try {
    const found = await inspect(join(copy, databaseName));
    const store = await openStore({
      engine: new LevelEngine({ directory: copy, fileSystem: files }),
    });
    try {
      const { objects, records, revision } = await store.verify();
      await work(store);
      const from = found.version ?? schemaVersion;
      const report = {
        from,
        to: schemaVersion,
        changes: stepChanges(from),
        records: found.records,
        removedRecords: found.records - records,
        objects,
        revision,
      };
      if (from === schemaVersion) return report;
      const names = await copiedNames(files, directory, copiedBeforeMigration);
      const room = await requireRoom(
        { files, directory, version: from, alsoCopied: copiedBeforeMigration },
        names,
      );
      return { ...report, copy: { ...room, names, path: copyFolder(directory, from) } };
    } finally {
      await store.close();
    }
  } catch (error) {
    throw aboutStore(error, copy, directory);
  }
}

async function copyInto(files: FileSystem, directory: string, to: string): Promise<void> {
  const source = await salvageSource(files, directory);
  try {
    await files.makeDirectory(to);
    await copyTree(files, source.database, join(to, databaseName));
    if (await files.exists(source.mark)) await files.copyFile(source.mark, join(to, markName));
  } catch (cause) {
    throw scratchUnwritable(`the database in ${directory} can't be copied to ${to}`, cause);
  }
}
