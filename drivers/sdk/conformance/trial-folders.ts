import { mkdtemp, realpath, rmdir } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { mountAt } from '../node/mount-table.js';
import { assert } from './failure.js';

/** Creates a temporary folder whose path contains no links. */
export async function makeFolder(): Promise<string> {
  return mkdtemp(join(await realpath(tmpdir()), 'kedge-conformance-'));
}

/**
 * Removes a folder of a trial and its mount point. Never recursively: a volume may still be mounted below.
 * @throws ConformanceError while it is
 */
export async function removeFolder(folder: string): Promise<void> {
  const target = join(folder, 'target');
  assert(
    (await mountAt(target)) === undefined,
    `${target} is still mounted; unmount it manually (umount ${target})`,
  );
  for (const path of [target, folder])
    await rmdir(path).catch((error: NodeJS.ErrnoException) => {
      if (error.code !== 'ENOENT') throw error;
    });
}
