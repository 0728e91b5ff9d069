import { mkdir, stat } from 'node:fs/promises';
import { dirname } from 'node:path';
import { isAccessible } from './paths.js';

/**
 * Creates a directory and its missing parents, all with a mode; no-op if it exists. A recursive mkdir of Node.js does not:
 * it never ends below /proc, where the kernel reports ENOENT for new directories, and reports ENOENT in place of other
 * errors, such as ENOSPC.
 * @throws Error of mkdir(2)
 */
export async function makeDirectory(path: string, mode: number): Promise<void> {
  try {
    await makeOne(path, mode);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
    const parent = dirname(path);
    if (parent !== path && !(await isAccessible(parent))) await makeDirectory(parent, mode);
    await makeOne(path, mode);
  }
}

async function makeOne(path: string, mode: number): Promise<void> {
  try {
    await mkdir(path, { mode });
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST' || !(await isDirectory(path)))
      throw error;
  }
}

async function isDirectory(path: string): Promise<boolean> {
  return stat(path).then(
    (found) => found.isDirectory(),
    () => false,
  );
}
