import { access, mkdir } from 'node:fs/promises';
import { dirname } from 'node:path';

/**
 * Creates a directory and its missing parents, all with a mode; no-op if it exists.
 * @throws Error of mkdir(2). A recursive mkdir of Node.js reports ENOENT in place of some of them, such as ENOSPC.
 */
export async function makeDirectory(path: string, mode: number): Promise<void> {
  try {
    await mkdir(path, { recursive: true, mode });
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
    await makeEach(path, mode);
  }
}

async function makeEach(path: string, mode: number): Promise<void> {
  const parent = dirname(path);
  if (parent !== path && !(await exists(parent))) await makeEach(parent, mode);
  await mkdir(path, { mode }).catch((error: NodeJS.ErrnoException) => {
    if (error.code !== 'EEXIST') throw error;
  });
}

async function exists(path: string): Promise<boolean> {
  return access(path).then(
    () => true,
    () => false,
  );
}
