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

/** What is replaced, and with which engine it is written. */
export interface ReplaceStoreOptions {
  readonly files: FileSystem;
  readonly lock: DatabaseDriver['lock'];
  readonly directory: string;
  readonly existing: Existing;
  /** An engine over this directory, or one in it, that takes no lock. */
  readonly engineAt: (directory: string) => Engine;
}

/** See {@link ReplaceableEngine.replace}; for a store that is a directory. */
export async function replaceStore(options: ReplaceStoreOptions, fill: Fill): Promise<Replacement> {
  const { files, directory } = options;
  await files.makeDirectory(directory);
  const lock = await options.lock(directory);
  try {
    await finishReplacement(files, directory);
    // Under the lock: nobody can write the first object behind this.
    if (options.existing === 'refuse') await demandNothing(options);
    const last = await lastMarked(options);
    const path = await beginReplacement(files, directory);
    try {
      await fill(options.engineAt(path), last);
    } catch (error) {
      // What can't be removed now is removed by the next opening.
      await files.remove(path).catch(() => undefined);
      throw error;
    }
    const kept = await commitReplacement(files, directory);
    return kept === undefined ? {} : { kept };
  } finally {
    await lock.release();
  }
}

/** @throws StatusError FailedPrecondition (NotEmpty) unless nothing was ever written. */
async function demandNothing({ files, directory, engineAt }: ReplaceStoreOptions): Promise<void> {
  if (!(await files.exists(join(directory, databaseName)))) return;
  const mark = await readMark(files, join(directory, markName));
  // Opening would change what may be damaged, so it comes last.
  if (mark.type === 'mark' && mark.revision > 0) throw notEmpty();
  const engine = engineAt(directory);
  // A first start that was interrupted left no id; should the restore fail, this one stays.
  await engine.open(() => systemRandom.uuid());
  try {
    for await (const chunk of engine.scan(0)) if (chunk.length > 0) throw notEmpty();
  } finally {
    await engine.close();
  }
}

/** The highest revision that a mark in the directory names; undefined when the store has none that can be read. */
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
