import { realpath } from 'node:fs/promises';
import { type MountEntry, readMountTable } from '@kedge/driver-sdk';

/**
 * Files in the data directory of an engine that it mounts into each container. They are not private, and in a container
 * name resolution needs them.
 */
const filesOfContainers = ['/etc/hostname', '/etc/hosts', '/etc/resolv.conf'];

/** Whether a path is a directory or below it. */
export function isWithin(path: string, directory: string): boolean {
  return path === directory || path.startsWith(directory === '/' ? '/' : `${directory}/`);
}

/** The path in `to` that corresponds to a path within `from`. */
function moved(path: string, from: string, to: string): string {
  const below = from === '/' ? path : path.slice(from.length);
  return `${to === '/' ? '' : to}${below === '/' ? '' : below}` || '/';
}

/**
 * The further paths at which private directories and files, or parts of them, are mounted: by bind mounts, or because
 * their file system is mounted twice. Paths within a private directory are not among them, and neither are files that an
 * engine mounts into the container of kedged for its name resolution.
 * @param paths private directories and files, without symbolic links
 * @param mounts the mounts of this machine in their order
 */
export function secondPathsAmong(
  paths: readonly string[],
  mounts: readonly MountEntry[],
): readonly string[] {
  const found = new Set<string>();
  for (const path of paths) {
    let own: MountEntry | undefined;
    // The last of several mounts at one path is the visible one.
    for (const each of mounts)
      if (isWithin(path, each.target) && each.target.length >= (own?.target.length ?? 0))
        own = each;
    if (!own) continue;
    const { device } = own;
    const place = moved(path, own.target, own.root);
    for (const { root, target, device: other } of mounts) {
      if (other !== device) continue;
      if (isWithin(place, root)) found.add(moved(place, root, target));
      else if (isWithin(root, place)) found.add(target);
    }
  }
  return [...found].filter(
    (each) => !paths.some((path) => isWithin(each, path)) && !filesOfContainers.includes(each),
  );
}

/**
 * The paths of the machine at which private directories and files can be reached, in two lists: `own`, those that are
 * given, and `second`, those of further mounts, see {@link secondPathsAmong}.
 */
export async function privatePlaces(
  paths: readonly string[],
): Promise<{ readonly own: readonly string[]; readonly second: readonly string[] }> {
  const mounts = await readMountTable();
  // Without its links, if it exists.
  const real = await Promise.all(paths.map((path) => realpath(path).catch(() => path)));
  return { own: paths, second: secondPathsAmong(real, mounts) };
}
