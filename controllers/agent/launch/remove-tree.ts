import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { programPath } from './process-table.js';

const run = promisify(execFile);

/**
 * Removes a directory that a workload wrote to. The workload may have passed descriptors of it to users and to other
 * workloads, which replace a directory by a link while it is removed. rm(1) of GNU opens each directory relative to the
 * one above it and follows no link, unlike the function of Node.js, which repeats paths. The directory above `path` may
 * be writable for kedged alone. No-op if the path does not exist.
 * @throws Error of rm(1) if something remains
 */
export async function removeTree(path: string): Promise<void> {
  const remove = ['-rf', '--', path] as const;
  const options = { env: { PATH: programPath } };
  try {
    await run('rm', remove, options);
  } catch (error) {
    if (process.getuid?.() === 0) throw error;
    // Some directories may be closed to their own user, who passes them in a user namespace. chmod(1) would follow links
    // that are swapped in.
    await run('unshare', ['--user', '--map-root-user', '--', 'rm', ...remove], options).catch(() =>
      Promise.reject(error as Error),
    );
  }
}
