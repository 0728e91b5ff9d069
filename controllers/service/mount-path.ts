import { posix } from 'node:path';

/** Paths that can't be mount paths, although paths below them can (specification section 8). */
const blockedExactly = ['/', '/etc', '/var/run/docker.sock', '/run/docker.sock'];
/** Paths that can't be mounted over, including everything below. */
const blockedBelow = ['/proc', '/sys'];

/** Normalizes a mount path for comparisons: no double or trailing slashes. */
export function normalMountPath(path: string): string {
  const normal = posix.normalize(path);
  return normal.length > 1 ? normal.replace(/\/+$/, '') : normal;
}

/** Whether `path` is `directory` or below it, by whole components. */
export function isAtOrBelow(path: string, directory: string): boolean {
  return path === directory || path.startsWith(directory === '/' ? '/' : `${directory}/`);
}

/** The violation of a mount path, or undefined. */
export function mountPathProblem(path: string): string | undefined {
  if (!path.startsWith('/')) return 'must be absolute';
  if (path.split('/').includes('..')) return 'must not contain a .. segment';
  // The supervisor reads mounts line by line.
  if (/[\n\t\0]/.test(path)) return 'must not contain a tab, a line break or a NUL character';
  const normal = normalMountPath(path);
  if (blockedExactly.includes(normal))
    return `${normal} can't be a mount path; choose another path`;
  const below = blockedBelow.find((blocked) => isAtOrBelow(normal, blocked));
  return below === undefined
    ? undefined
    : `paths at or below ${below} can't be mount paths; choose another path`;
}

/** The violation of a subPath, or undefined. */
export function subPathProblem(path: string): string | undefined {
  if (path.startsWith('/')) return 'must be relative to the volume';
  if (path.split('/').includes('..')) return 'must not contain a .. segment';
  if (/[\n\t\0]/.test(path)) return 'must not contain a tab, a line break or a NUL character';
  return undefined;
}
