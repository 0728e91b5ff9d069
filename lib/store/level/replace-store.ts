import { join } from 'node:path';
import { systemRandom } from '../../base/index.js';
import type { DatabaseDriver } from './level-database.js';
import {
  type Engine,
  type Existing,
  type Fill,
  notEmpty,
  type Replacement,
} from '../engine/engine.js';
import type { FileSystem } from '../directory/file-system.js';
import { readMark } from '../directory/high-water.js';
import {
  beginReplacement,
  commitReplacement,
  databaseName,
  finishReplacement,
  markFiles,
  markName,
} from '../directory/replacement.js';

/** Options of a replacement: the directory, and the engine for the new content. */
export interface ReplaceStoreOptions {
  readonly files: FileSystem;
  readonly lock: DatabaseDriver['lock'];
  readonly directory: string;
  readonly existing: Existing;
  /** Creates an engine without a lock, for this directory or one in it. */
  readonly engineAt: (directory: string) => Engine;
}

/** Replaces the store in a directory, as {@link ReplaceableEngine.replace} describes it. */
export async function replaceStore(options: ReplaceStoreOptions, fill: Fill): Promise<Replacement> {
  const { files, directory } = options;
  await files.makeDirectory(directory);
  const lock = await options.lock(directory);
  try {
    await finishReplacement(files, directory);
    // Under the lock: no other process can write a first object meanwhile.
    if (options.existing === 'refuse') await requireEmptyStore(options);
    const last = await lastMarked(options);
    const path = await beginReplacement(files, directory);
    try {
      await fill(options.engineAt(path), last);
    } catch (error) {
      // If the removal fails, the next opening removes it.
      await files.remove(path).catch(() => undefined);
      throw error;
    }
    const kept = await commitReplacement(files, directory);
    return kept === undefined ? {} : { kept };
  } finally {
    await lock.release();
  }
}

/** Checks that nothing was ever written to the store. @throws StatusError FailedPrecondition (NotEmpty) */
async function requireEmptyStore({
  files,
  directory,
  engineAt,
}: ReplaceStoreOptions): Promise<void> {
  if (!(await files.exists(join(directory, databaseName)))) return;
  const mark = await readMark(files, join(directory, markName));
  // The opening comes last, because it would change a possibly damaged database.
  if (mark.type === 'mark' && mark.revision > 0) throw notEmpty();
  const engine = engineAt(directory);
  // An interrupted first start left no id; if the restore fails, this one stays.
  await engine.open(() => systemRandom.uuid());
  try {
    for await (const chunk of engine.scan(0)) if (chunk.length > 0) throw notEmpty();
  } finally {
    await engine.close();
  }
}

/** The highest revision of the marks in the directory; undefined if none can be read. */
async function lastMarked({ files, directory }: ReplaceStoreOptions): Promise<number | undefined> {
  const current = join(directory, markName);
  let last = 0;
  for (const path of await markFiles(files, directory)) {
    const mark = await readMark(files, path);
    if (mark.type === 'mark') last = Math.max(last, mark.revision);
    else if (path === current) return undefined;
  }
  const unmarked =
    !(await files.exists(current)) &&
    (await files.exists(join(directory, databaseName, 'CURRENT')));
  return unmarked ? undefined : last;
}
