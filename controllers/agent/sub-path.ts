import { mkdir, realpath } from 'node:fs/promises';
import { join, relative } from 'node:path';

/**
 * The directory that a subPath names inside a volume, created where missing.
 * @throws Error when links inside the volume lead out of it.
 */
export async function resolveSubPath(root: string, subPath: string): Promise<string> {
  const base = await realpath(root);
  let at = base;
  for (const part of subPath.split('/').filter((p) => p !== '' && p !== '.')) {
    const next = join(at, part);
    await mkdir(next, { mode: 0o755 }).catch((error: NodeJS.ErrnoException) => {
      if (error.code !== 'EEXIST') throw error;
    });
    at = await realpath(next);
    const way = relative(base, at);
    if (way === '..' || way.startsWith('../'))
      throw new Error(`subPath ${subPath} leads out of the volume through a link at ${next}`);
  }
  return at;
}
