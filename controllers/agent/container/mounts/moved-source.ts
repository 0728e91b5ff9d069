import { realpath } from 'node:fs/promises';
import { sourceWithoutLinks } from '../../runtime/mount-source.js';
import type { WorkloadMount } from '../../runtime/runtime.js';
import { sourceMoved } from '../../../messages/starts.js';

/**
 * Checks that the path of each source has no symbolic link. The engine follows links, and a workload that may write to
 * a parent of the source can create one after the source was prepared.
 * @param ownDirectories directories that only the daemon writes to; their parent paths may contain links
 * @throws Error that names the mount, its source and the target of the link
 */
export async function requireUnmoved(
  mounts: readonly WorkloadMount[],
  ownDirectories: readonly string[],
): Promise<void> {
  for (const { source, target } of mounts) {
    const real = await realpath(source).catch((error: unknown) => {
      throw new Error(`mount ${target}: its source ${source} can't be resolved: ${String(error)}`);
    });
    if (real === (await sourceWithoutLinks(source, ownDirectories))) continue;
    throw new Error(
      `mount ${target}: ${sourceMoved.format({ source, target: real })}, because a directory of the path was replaced by a symbolic link; put the directory back on the node, or change the volume's parameter hostPath`,
    );
  }
}
