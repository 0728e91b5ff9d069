import { relative } from 'node:path';

/** Whether `path` is `directory` or below it, on component boundaries: /data contains /data/x, not /database. */
export function isWithin(path: string, directory: string): boolean {
  const way = relative(directory, path);
  return way === '' || (way !== '..' && !way.startsWith('../'));
}
