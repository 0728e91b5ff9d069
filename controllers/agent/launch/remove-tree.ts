import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { messageOf } from 'kedge';
import { programPath } from './process-table.js';

const run = promisify(execFile);
const options = { env: { PATH: programPath, LC_ALL: 'C' }, maxBuffer: 16 * 1024 * 1024 };

/**
 * Removes a directory that a workload wrote to. The workload may have passed descriptors of the directory to users and
 * to other workloads, which can replace a directory by a link during the removal. rm(1) of GNU opens each directory
 * relative to the one above it and follows no link, unlike rm of node:fs, which resolves the whole path of each entry.
 * No other user than that of kedged may have write access to the directory above `path`. No-op if the path does not
 * exist.
 * @throws Error with the first message of rm(1) if something remains
 */
export async function removeTree(path: string): Promise<void> {
  const remove = ['-rf', '--', path] as const;
  try {
    await run('rm', remove, options);
  } catch (error) {
    if (process.getuid?.() === 0) throw firstOf(error);
    // The mode of a directory may deny access to its own user. Root of a user namespace has access nevertheless. chmod(1)
    // is not used, because it would follow a link that replaced the directory.
    await run('unshare', ['--user', '--map-root-user', '--', 'rm', ...remove], options).catch(() =>
      Promise.reject(firstOf(error)),
    );
  }
}

/** The error with the first message of the program, which writes one for each file. */
function firstOf(cause: unknown): Error {
  const { stderr = '' } = cause as { readonly stderr?: string };
  const [line = ''] = stderr.split('\n');
  return new Error(line === '' ? messageOf(cause) : line, { cause });
}
