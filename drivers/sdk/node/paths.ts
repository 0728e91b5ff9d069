import { access } from 'node:fs/promises';

/** Whether a path is accessible; an unreadable parent counts as absent. */
export async function isAccessible(path: string): Promise<boolean> {
  return access(path).then(
    () => true,
    () => false,
  );
}

/**
 * Whether a path is `directory` or below it. Every absolute path is at or below `/`. Texts are compared, so both must be
 * normalized, and a text that is not a path, such as `socket:[1]` of a descriptor's link, is below no directory.
 */
export function isAtOrBelow(path: string, directory: string): boolean {
  return path === directory || path.startsWith(directory === '/' ? '/' : `${directory}/`);
}
