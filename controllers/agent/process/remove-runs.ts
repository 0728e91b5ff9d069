import { rm, rmdir } from 'node:fs/promises';
import { join } from 'node:path';
import { namesIn } from '../launch/process-table.js';
import { removeTree } from '../launch/remove-tree.js';

/**
 * Removes the folder of a workload that has ended, with the temporary files of its runs.
 * @throws Error of rm(1) if temporary files remain
 */
export async function removeRuns(workload: string): Promise<void> {
  for (const name of namesIn(workload))
    if (name.startsWith('run-')) await removeTemporary(join(workload, name, 'temporary'));
  await rm(workload, { recursive: true, force: true });
}

async function removeTemporary(temporary: string): Promise<void> {
  try {
    // Most are empty, and a process costs more.
    for (const path of ['tmp', 'var/tmp', 'var', '.']) await rmdir(join(temporary, path));
  } catch {
    await removeTree(temporary);
  }
}
