import { isWithin } from './within.js';

/** The overlap of a directory with a denied path. */
export type Relation = 'is' | 'contains' | 'lies in';

/** The relation of a host path to a denied one; undefined if they do not overlap. */
export function relationOf(path: string, denied: string): Relation | undefined {
  if (path === denied) return 'is';
  if (isWithin(denied, path)) return 'contains';
  return isWithin(path, denied) ? 'lies in' : undefined;
}
