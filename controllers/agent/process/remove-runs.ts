import { rm, rmdir } from 'node:fs/promises';
import { join } from 'node:path';
import { messageOf } from 'kedge';
import { removalByRoot } from '../../messages/inputs.js';
import { shellWord } from '../../messages/shell-word.js';
import { namesIn } from '../launch/process-table.js';
import { removeTree } from '../launch/remove-tree.js';

/**
 * Removes the folder of a workload that has ended, with the temporary files of its runs.
 * @throws Error with the command to type if temporary files remain, such as those of another user, to whom the
 *   workload had passed a directory
 */
export async function removeRuns(workload: string): Promise<void> {
  for (const name of namesIn(workload))
    if (name.startsWith('run-')) {
      const temporary = join(workload, name, 'temporary');
      await removeTemporary(temporary).catch((cause: unknown) => {
        const command = removalByRoot.format(shellWord(workload));
        // Names of files come after the command: one could look like another command.
        throw new Error(
          `the temporary files of the workload can't be removed from the node; ${command} (${messageOf(cause)})`,
          { cause },
        );
      });
    }
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
