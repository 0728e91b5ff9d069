import { realpath, stat } from 'node:fs/promises';
import { dirname, normalize } from 'node:path';
import { type DeniedPath, type MountEntry, readMountTable } from '@kedge/driver-sdk';
import { mountRelation } from './denied-mount.js';
import { type Relation, relationOf } from './relation.js';

function refusal(path: string, relation: Relation, denied: DeniedPath, how = ''): string {
  const what = relation === 'is' ? denied.name : `${denied.path}, ${denied.name}`;
  return `${JSON.stringify(path)}${how} ${relation} ${what}, which no workload may reach; choose a directory that is used by workloads alone`;
}

/** The violation of a host path by the text of denied paths; undefined if there is none. */
export function deniedProblem(path: string, denylist: readonly DeniedPath[]): string | undefined {
  for (const denied of denylist) {
    const relation = relationOf(normalize(path).replace(/(.)\/$/, '$1'), normalize(denied.path));
    if (relation) return refusal(path, relation, denied);
  }
  return undefined;
}

/** A denied path with its links resolved, as far as it exists. */
async function realOf(path: string): Promise<string> {
  try {
    return await realpath(path);
  } catch {
    const parent = dirname(path);
    return parent === path ? path : `${await realOf(parent)}${path.slice(parent.length)}`;
  }
}

/** Returns the identity of a file, which bind mounts do not change; undefined if it can't be read. */
async function identityOf(path: string): Promise<string | undefined> {
  const found = await stat(path, { bigint: true }).catch(() => undefined);
  return found && `${found.dev}:${found.ino}`;
}

/** Whether a denied path or one of the directories that contain it is the given directory. */
async function isOnWay(directory: string, denied: string): Promise<boolean> {
  const identity = await identityOf(directory);
  for (let at = denied; ; at = dirname(at)) {
    if (identity !== undefined && (await identityOf(at)) === identity) return true;
    if (at === dirname(at)) return false;
  }
}

/** The mounts of this process; none on a machine without mountinfo, which has no bind mounts. */
async function presentMounts(): Promise<readonly MountEntry[]> {
  try {
    return await readMountTable();
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return [];
    throw error;
  }
}

/**
 * The violation of a directory by the real files of denied paths; undefined if there is none: links are resolved, and
 * mounts that show a denied directory, a part of it or a directory that contains it are recognized.
 * @param real the path with links resolved
 */
export async function deniedRealProblem(
  real: string,
  denylist: readonly DeniedPath[],
): Promise<string | undefined> {
  const mounts = denylist.length === 0 ? [] : await presentMounts();
  for (const denied of denylist) {
    const there = await realOf(denied.path);
    const relation =
      relationOf(real, there) ?? ((await isOnWay(real, there)) ? 'contains' : undefined);
    if (relation) return refusal(real, relation, denied);
    const mounted = mountRelation(real, there, mounts);
    if (mounted) return refusal(real, mounted, denied, ' by a mount');
  }
  return undefined;
}
