import { join } from 'node:path';
import { messageOf, StatusError } from '../../base/index.js';
import type { Engine, EngineState, Migration, RecordAddress } from '../engine/engine.js';
import { copyTree, type FileSystem, treeBytes } from '../directory/file-system.js';
import { schemaVersion } from './meta-record.js';
import { databaseName, markName } from '../directory/replacement.js';
import { restoreIndex } from '../log/restore.js';

/** Bytes that must stay free after the copy: LevelDB writes new files when it is reopened. */
const reserveBytes = 8 * 1024 * 1024;

/** A directory before its migration. */
export interface CopyOptions {
  readonly files: FileSystem;
  readonly directory: string;
  /** Schema version of the database, which is not open. */
  readonly version: number;
  /** Further names in the directory that a rollback needs. */
  readonly alsoCopied: readonly string[];
}

/** Suffix of the earlier copy while the new one is renamed. */
const earlierSuffix = '.earlier';

/** The directory of the copy that is made before a database of `version` is migrated. */
export function copyFolder(directory: string, version: number): string {
  return join(directory, `schema-${version}-copy`);
}

/** The names in a data directory that the copy holds. */
export async function copiedNames(
  files: FileSystem,
  directory: string,
  alsoCopied: readonly string[],
): Promise<readonly string[]> {
  const names: string[] = [];
  for (const name of [databaseName, markName, ...alsoCopied])
    if (await files.exists(join(directory, name))) names.push(name);
  return names;
}

/**
 * Copies the files of a store to `schema-<version>-copy` beside it, complete and durable when it resolves. A copy
 * of an interrupted migration is replaced, because the database may have been written since; it is kept until the
 * new one is complete.
 * @throws StatusError ResourceExhausted (NoRoomForCopy), Unavailable (CopyFailed); the store has not changed.
 */
export async function copyStore(options: CopyOptions): Promise<Migration> {
  const { files, directory, version } = options;
  const copy = copyFolder(directory, version);
  const partial = `${copy}.partial`;
  const names = await copiedNames(files, directory, options.alsoCopied);
  try {
    await files.remove(partial);
    await requireRoom(options, names);
    await files.makeDirectory(partial);
    const present = await files.readDirectory(directory);
    for (const name of names) {
      const isDirectory = present.some((e) => e.name === name && e.type === 'directory');
      const [from, to] = [join(directory, name), join(partial, name)];
      if (isDirectory) await copyTree(files, from, to);
      else await copyFile(files, from, to);
    }
    await files.syncDirectory(partial);
    await replaceCopy(files, directory, { partial, copy });
  } catch (error) {
    if (error instanceof StatusError) throw error;
    await files.remove(partial).catch(() => undefined);
    throw new StatusError({
      code: 'Unavailable',
      reason: 'CopyFailed',
      message: `the database in ${directory} has schema version ${version} and is copied to ${copy} before its migration to version ${schemaVersion}; the copy failed (${messageOf(error)}), and nothing was changed: correct this, then start again`,
      cause: error,
    });
  }
  const moved = `${names.join(', ')}`;
  return {
    from: version,
    to: schemaVersion,
    copy,
    rollback: `stop this release, move ${moved} out of ${directory}, copy ${moved} there from ${copy}, and start the release that wrote schema version ${version}; writes since the migration are not in the copy`,
  };
}

/** Renames a complete copy to its name. At any moment the earlier or the new complete copy has a name. */
async function replaceCopy(
  files: FileSystem,
  directory: string,
  { partial, copy }: { readonly partial: string; readonly copy: string },
): Promise<void> {
  const earlier = `${copy}${earlierSuffix}`;
  await files.syncDirectory(directory);
  if (await files.exists(copy)) {
    await files.remove(earlier);
    await files.rename(copy, earlier);
    await files.syncDirectory(directory);
  }
  await files.rename(partial, copy);
  await files.syncDirectory(directory);
  if (await files.exists(earlier)) await files.remove(earlier);
}

/** Paths of the complete copies in a directory. */
async function copiesIn(files: FileSystem, directory: string): Promise<readonly string[]> {
  const names = (await files.readDirectory(directory)).map(({ name }) => name);
  const whole = /^schema-\d+-copy(\.earlier)?$/;
  return names
    .filter((name) => whole.test(name))
    .sort()
    .map((name) => join(directory, name));
}

async function copyFile(files: FileSystem, from: string, to: string): Promise<void> {
  await files.copyFile(from, to);
  const file = await files.open(to, 'r+');
  try {
    await file.sync();
  } finally {
    await file.close();
  }
}

/** Space on the disk of a data directory, in bytes; `free` is undefined if there is no such limit. */
export interface CopyRoom {
  readonly needed: number;
  readonly free: number | undefined;
}

/**
 * Returns the space that a copy needs and the free space.
 * @throws StatusError ResourceExhausted (NoRoomForCopy) if the free space is too small
 */
export async function requireRoom(
  options: CopyOptions,
  names: readonly string[],
): Promise<CopyRoom> {
  const { files, directory, version } = options;
  const free = await files.freeBytes(directory);
  const present = await files.readDirectory(directory);
  let needed = reserveBytes;
  for (const { name, type } of present) {
    if (!names.includes(name)) continue;
    const path = join(directory, name);
    needed += type === 'directory' ? await treeBytes(files, path) : await files.size(path);
  }
  if (free === undefined || free >= needed) return { needed, free };
  const copies = await copiesIn(files, directory);
  const there =
    copies.length === 0
      ? 'there is no earlier copy'
      : `copies of earlier migrations are in ${copies.join(' and ')}, which can be moved to another disk`;
  throw new StatusError({
    code: 'ResourceExhausted',
    reason: 'NoRoomForCopy',
    message: `the database in ${directory} has schema version ${version}; it is copied before its migration to version ${schemaVersion}, which needs ${needed} bytes, and ${free} are free; free disk space and start again; nothing was changed, and ${there}`,
  });
}

/** One migration step, in addition to raising the version. */
export interface MigrationStep {
  /** Its changes to the records, for messages. */
  readonly change: string;
  /** Finds the records that the step removes. */
  readonly removed: (engine: Engine, state: EngineState) => Promise<readonly RecordAddress[]>;
}

/**
 * Steps by the version that they start from. Each is one write, together with the record of the next version: a crash
 * leaves the log before or after the step.
 */
export const migrationSteps: Readonly<Record<number, MigrationStep>> = {
  // An interrupted compaction of version 2 left superseded records below its mark. The step reads the whole log: a
  // damaged one is not changed.
  2: {
    change: 'removes superseded records that an interrupted compaction left',
    removed: async (engine, state) => (await restoreIndex(engine, state)).garbage,
  },
};

/** Describes the changes of the steps from `version` to this release's version. */
export function stepChanges(version: number): readonly string[] {
  const lines: string[] = [];
  for (let from = version; from < schemaVersion; from += 1)
    lines.push(`${from} to ${from + 1}: ${migrationSteps[from]?.change ?? 'changes no record'}`);
  return lines;
}
