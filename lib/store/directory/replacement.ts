import { join } from 'node:path';
import { type FileSystem, syncTree } from './file-system.js';

/**
 * Atomic replacement of a database by a restored one.
 *
 * A restore fills the directory `restoring`, makes it durable and renames it to `restored`: the rename is the
 * commit. Then the present database moves to `replaced-<n>` and the restored one to its place. Every opening
 * finishes an interrupted replacement and removes an uncommitted `restoring`.
 */
const building = 'restoring';
const complete = 'restored';
const replacedPrefix = 'replaced-';
/** The parts of a store: its database and its high-water mark. */
export const databaseName = 'db';
export const markName = 'high-water';

/** Creates the empty directory of the new store, without remains of an earlier attempt, and returns its path. */
export async function beginReplacement(files: FileSystem, directory: string): Promise<string> {
  const path = join(directory, building);
  await files.remove(path);
  await files.makeDirectory(path);
  return path;
}

/**
 * Makes the filled directory the store, durably.
 * @returns the directory of the replaced store; undefined if there was none.
 */
export async function commitReplacement(
  files: FileSystem,
  directory: string,
): Promise<string | undefined> {
  const path = join(directory, building);
  for (const { name } of await files.readDirectory(path))
    if (name !== databaseName && name !== markName) await files.remove(join(path, name));
  await syncTree(files, path);
  await files.syncDirectory(directory);
  await files.rename(path, join(directory, complete));
  await files.syncDirectory(directory);
  return finishReplacement(files, directory);
}

/**
 * Finishes a committed replacement and removes an uncommitted one. No-op without either.
 * @returns the directory of the replaced store; undefined if no store was replaced
 */
export async function finishReplacement(
  files: FileSystem,
  directory: string,
): Promise<string | undefined> {
  const names = new Set((await files.readDirectory(directory)).map(({ name }) => name));
  if (names.has(building)) await files.remove(join(directory, building));
  if (!names.has(complete)) return undefined;
  const from = join(directory, complete);
  const database = join(directory, databaseName);
  const mark = join(directory, markName);
  let replaced: string | undefined;
  // Until the restored database is in place, the database and mark there are the old ones.
  if (await files.exists(join(from, databaseName))) {
    replaced = await setAside(files, directory, names);
    await files.rename(join(from, databaseName), database);
    await files.syncDirectory(directory);
    await files.syncDirectory(from);
  }
  if (await files.exists(join(from, markName))) {
    await files.rename(join(from, markName), mark);
    await files.syncDirectory(directory);
  }
  await files.remove(from);
  await files.syncDirectory(directory);
  return replaced;
}

/**
 * Moves the present database and its mark into a new directory, and returns its path; undefined if there is neither.
 */
async function setAside(
  files: FileSystem,
  directory: string,
  names: ReadonlySet<string>,
): Promise<string | undefined> {
  if (!names.has(databaseName) && !names.has(markName)) return undefined;
  let number = 1;
  // A directory with only a mark belongs to an interrupted move and gets the database now.
  while (await files.exists(join(directory, `${replacedPrefix}${number}`, databaseName)))
    number += 1;
  const target = join(directory, `${replacedPrefix}${number}`);
  await files.makeDirectory(target);
  await files.syncDirectory(directory);
  for (const name of [markName, databaseName])
    if (names.has(name)) await files.rename(join(directory, name), join(target, name));
  await files.syncDirectory(target);
  await files.syncDirectory(directory);
  return target;
}

/** Files of marks in a directory: of its store, and of earlier replaced stores. */
export async function markFiles(files: FileSystem, directory: string): Promise<readonly string[]> {
  const found: string[] = [];
  for (const { name } of await files.readDirectory(directory)) {
    if (name === markName) found.push(join(directory, name));
    if (!name.startsWith(replacedPrefix)) continue;
    const path = join(directory, name, markName);
    if (await files.exists(path)) found.push(path);
  }
  return found;
}

/**
 * The paths of a directory's store, without changing it: an opening would first finish a replacement that was
 * interrupted after its commit.
 */
export async function salvageSource(
  files: FileSystem,
  directory: string,
): Promise<{ readonly database: string; readonly mark: string }> {
  const from = join(directory, complete);
  const at = async (name: string): Promise<string> => {
    const restored = join(from, name);
    return (await files.exists(restored)) ? restored : join(directory, name);
  };
  return { database: await at(databaseName), mark: await at(markName) };
}
