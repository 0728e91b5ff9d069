import { join, relative } from 'node:path';
import type { Holders } from './holders.js';
import type { MountEntry } from './mount-table.js';
import { isAtOrBelow } from './paths.js';
import { commandOf, processMounts } from './process-mounts.js';

/** Returns the device and the place in its file system of a path without links; undefined if no mount has it. */
function placeOf(
  path: string,
  mounts: readonly MountEntry[],
): Pick<MountEntry, 'device' | 'root'> | undefined {
  const mount = mounts
    .filter(({ target }) => isAtOrBelow(path, target))
    .reduce<MountEntry | undefined>(
      (longest, one) => (longest && longest.target.length > one.target.length ? longest : one),
      undefined,
    );
  return mount && { device: mount.device, root: join(mount.root, relative(mount.target, path)) };
}

/**
 * The mounts among `others` of the directory, or of a directory below it; none if no mount of `own` has the directory.
 * @param own the mounts of this process
 */
export function mountsOf(
  directory: string,
  own: readonly MountEntry[],
  others: readonly MountEntry[],
): readonly MountEntry[] {
  const place = placeOf(directory, own);
  if (!place) return [];
  return others.filter(
    ({ device, root }) => device === place.device && isAtOrBelow(root, place.root),
  );
}

/**
 * Mounts of directories at or below the directory in other mount namespaces: volumes that are bound into workloads. Its
 * path must be without links. {@link nodeHolders} does not find them, because such a workload opens files by other paths.
 */
export const directoryMounts: Holders = {
  async holders({ directory }) {
    if (directory === undefined) return [];
    let own: { readonly namespace: string; readonly mounts: readonly MountEntry[] } | undefined;
    const found: Awaited<ReturnType<Holders['holders']>>[number][] = [];
    for await (const { pid, namespace, mounts } of processMounts()) {
      own ??= { namespace, mounts };
      if (namespace === own.namespace) continue;
      for (const { target } of mountsOf(directory, own.mounts, mounts))
        found.push({ type: 'mount', pid, command: await commandOf(pid), target, here: false });
    }
    return found;
  },
};
