import { join } from 'node:path';
import type { Migration } from '../engine/engine.js';
import { type FileSystem, systemErrorCode } from '../directory/file-system.js';

/** The unreported migration, as JSON. */
const noteName = 'migration.json';

/** A note: the migrated store and its migration. A store that was restored since has another id. */
interface MigrationNote extends Migration {
  readonly storeId: string;
}

function isNote(value: unknown): value is MigrationNote {
  const note = (value ?? {}) as Partial<Record<keyof MigrationNote, unknown>>;
  const numbers = typeof note.from === 'number' && typeof note.to === 'number';
  return numbers && [note.storeId, note.copy, note.rollback].every((v) => typeof v === 'string');
}

/**
 * The noted but unreported migration of a store; undefined if there is none. Notes are written atomically, so an
 * illegible one is foreign and is ignored.
 * @throws the system's error if the note can't be read
 */
export async function notedMigration(
  files: FileSystem,
  directory: string,
  storeId: string,
): Promise<Migration | undefined> {
  try {
    const value: unknown = JSON.parse((await files.readFile(join(directory, noteName))).toString());
    if (!isNote(value) || value.storeId !== storeId) return undefined;
    const { from, to, copy, rollback } = value;
    return { from, to, copy, rollback };
  } catch (error) {
    if (error instanceof SyntaxError || systemErrorCode(error) === 'ENOENT') return undefined;
    throw error;
  }
}

/**
 * Notes a migration durably. An earlier interrupted and unreported migration started at an earlier version: the
 * rollback needs its copy, so its note is kept and returned.
 */
export async function noteMigration(
  files: FileSystem,
  directory: string,
  storeId: string,
  migration: Migration,
): Promise<Migration> {
  const earlier = await notedMigration(files, directory, storeId);
  if (earlier && earlier.from < migration.from && (await files.exists(earlier.copy)))
    return earlier;
  const path = join(directory, noteName);
  const fresh = `${path}.new`;
  const file = await files.open(fresh, 'w');
  try {
    await file.write(Buffer.from(`${JSON.stringify({ storeId, ...migration })}\n`), 0);
    await file.sync();
  } finally {
    await file.close();
  }
  await files.rename(fresh, path);
  await files.syncDirectory(directory);
  return migration;
}

/** Removes the note after the migration was reported. */
export async function forgetMigration(files: FileSystem, directory: string): Promise<void> {
  await files.remove(join(directory, noteName));
  await files.syncDirectory(directory);
}
