import { realpath } from 'node:fs/promises';
import { join, relative } from 'node:path';

/** The deepest of some directories that contains a path; the root directory if none does. */
function baseOf(path: string, directories: readonly string[]): string {
  return directories
    .filter((directory) => path === directory || path.startsWith(`${directory}/`))
    .reduce((best, directory) => (directory.length > best.length ? directory : best), '/');
}

/**
 * Returns the path that a source of a mount must have once links are resolved. It differs from the source only in the
 * path of the directory that only the daemon writes to: workloads may write to all others, and replace a directory by a
 * link.
 * @param ownDirectories directories that only the daemon writes to
 * @throws Error of the file system if such a directory can't be resolved
 */
export async function sourceWithoutLinks(
  source: string,
  ownDirectories: readonly string[],
): Promise<string> {
  const base = baseOf(source, ownDirectories);
  return join(await realpath(base), relative(base, source));
}
