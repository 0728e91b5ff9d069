import { execFile } from 'node:child_process';
import { rm } from 'node:fs/promises';
import { promisify } from 'node:util';
import { programPath } from '../launch/process-table.js';

const run = promisify(execFile);

/**
 * Removes the folder of a workload that has ended, with the temporary files of its runs. A workload of an ordinary user
 * may have left directories that its user can't list, and paths that are longer than the system accepts.
 * @throws Error of rm(1) if something remains
 */
export async function removeRuns(workload: string): Promise<void> {
  try {
    await rm(workload, { recursive: true, force: true });
  } catch {
    // The second attempt reports what remains.
    const options = { env: { PATH: programPath } };
    await run('chmod', ['-R', 'u+rwX', '--', workload], options).catch(() => undefined);
    await run('rm', ['-rf', '--', workload], options);
  }
}
